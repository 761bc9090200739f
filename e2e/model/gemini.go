package model

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// gemini is Google's generateContent API. The model, and whether the answer is
// streamed, are in the path and not in the body.
type gemini struct {
	model  string
	stream bool
}

// serveGemini reads the end of the path, MODEL:METHOD.
func (s *Server) serveGemini(w http.ResponseWriter, r *http.Request) {
	name, method, _ := strings.Cut(r.PathValue("call"), ":")
	switch method {
	case "generateContent", "streamGenerateContent":
		s.serve(gemini{name, method == "streamGenerateContent"}).ServeHTTP(w, r)
	case "countTokens":
		reply(w, 200, object{"totalTokens": tokensIn})
	default:
		http.NotFound(w, r)
	}
}

func (p gemini) parse(body []byte) (request, error) {
	var in struct {
		Contents []struct {
			Role  string            `json:"role"`
			Parts []json.RawMessage `json:"parts"`
		} `json:"contents"`
		Tools []struct {
			Functions []struct {
				Name       string `json:"name"`
				Schema     schema `json:"parametersJsonSchema"`
				Parameters schema `json:"parameters"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
		Config struct {
			Form schema `json:"responseJsonSchema"`
		} `json:"generationConfig"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return request{}, err
	}
	r := request{model: p.model, stream: p.stream, form: in.Config.Form}
	for _, c := range in.Contents {
		r.messages = append(r.messages, geminiMessages(c.Role, c.Parts)...)
	}
	for _, t := range in.Tools {
		for _, f := range t.Functions {
			if f.Schema.Properties == nil {
				f.Schema = f.Parameters
			}
			r.tools = append(r.tools, tool{f.Name, f.Schema})
		}
	}
	return r, nil
}

// geminiMessages takes the results of tools out of what the user says.
func geminiMessages(role string, parts []json.RawMessage) []message {
	if role == "model" {
		role = "assistant"
	}
	said := message{role: role}
	var list []message
	for _, raw := range parts {
		var part struct {
			Text     string          `json:"text"`
			Call     json.RawMessage `json:"functionCall"`
			Response *struct {
				Response json.RawMessage `json:"response"`
			} `json:"functionResponse"`
		}
		_ = json.Unmarshal(raw, &part) // another kind of part is none of these
		switch {
		case part.Response != nil:
			list = append(list, message{role: "tool", text: string(part.Response.Response)})
		case part.Call != nil:
			said.calls++
		default:
			said.text += part.Text + "\n"
		}
	}
	return append(list, said)
}

func (p gemini) write(w io.Writer, r request, text string, c *call) error {
	id := newID("")
	answer := func(parts []object, finish string) object {
		candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
		whole := object{"candidates": []object{candidate}, "modelVersion": r.model, "responseId": id}
		if finish != "" {
			candidate["finishReason"] = finish
			whole["usageMetadata"] = object{
				"promptTokenCount": tokensIn, "cachedContentTokenCount": tokensCached, "candidatesTokenCount": tokensOut, "totalTokenCount": tokensIn + tokensOut,
			}
		}
		return whole
	}
	var calls []object
	if c != nil {
		calls = []object{{"functionCall": object{"id": newID("call_"), "name": c.name, "args": c.args}}}
	}
	if !p.stream {
		return json.NewEncoder(w).Encode(answer(append([]object{{"text": text}}, calls...), "STOP"))
	}
	e := &events{w: w}
	list := pieces(text)
	for _, piece := range list[:len(list)-1] {
		e.send("", answer([]object{{"text": piece}}, ""))
	}
	// A part without text would make the whole answer invalid.
	e.send("", answer(append([]object{{"text": list[len(list)-1]}}, calls...), "STOP"))
	return e.err
}

func (gemini) failure(status int, text string) any {
	kind := map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED"}[status]
	return object{"error": object{"code": status, "message": text, "status": cmp.Or(kind, "UNAVAILABLE")}}
}
