package modelagent

// server is an MCP server.
type server struct{}
