package attempt

import (
	"testing"

	"ralph/internal/proof"
	"ralph/internal/testing/check"
	"ralph/verify"
)

// TestTestsOfTheTask are known by names that occur in what it wrote.
func TestTestsOfTheTask(t *testing.T) {
	t.Parallel()
	b := before{words: "login_test.go\nfunc TestLogin(t *testing.T)\ntestdata/lock.txtar\ntest('locks an account')\ndef test_x"}
	for name, want := range map[string]bool{
		"TestLogin": true, "TestLogin/sub_case": true, "TestScripts/lock": true, "TestOther": false, "TestScripts/other": false, "locks an account": true,
		"accounts › locks an account": true, "tests/test_a.py::test_x[a b]": true, "tests/test_a.py::test_y": false, "tests.login.Case.test_x": true, "a::b": false,
	} {
		check.Equal(t, name, want, wrote(b, name))
	}
	said := &verify.Report{Passed: map[string]bool{"TestLogin": true, "TestOther": true, "TestLogin/fails": false}}
	check.Equal(t, "those of the task", map[string]bool{"TestLogin": true}, provable(said, b))
	check.Equal(t, "no test was changed", map[string]bool{"TestLogin": true, "TestOther": true}, provable(said, before{}))
	check.Equal(t, "names that the text does not have", map[string]bool{"TestLogin": true, "TestOther": true}, provable(said, before{words: "cases.json"}))
}

func TestAShellScriptOfTestsIsATest(t *testing.T) {
	t.Parallel()
	for gate, want := range map[string]string{
		"sh tests/login_test.sh": "tests/login_test.sh", "./tests/login_test.sh": "./tests/login_test.sh", "sh check.sh": "", "sh tests/a_test.sh && true": "",
		"python tests/test_a.py": "", "": "",
	} {
		check.Equal(t, gate, want, shellTest(gate))
	}
}

// TestGatesOfACriterion: linters do not count where a gate runs tests.
func TestGatesOfACriterion(t *testing.T) {
	t.Parallel()
	gate := func(command string, own, tests bool) verify.Check {
		return verify.Check{Result: verify.Result{Command: command, Passed: true, Reported: &verify.Report{Any: tests}}, Own: own}
	}
	failed := gate("make", true, true)
	failed.Passed = false
	checks := []verify.Check{gate("go vet", false, false), gate("go test", false, true), failed}
	commands := func(c proof.Criterion, checks []verify.Check) (list []string) {
		for _, one := range provedBy(c, checks) {
			list = append(list, one.Command)
		}
		return list
	}
	check.Equal(t, "those that test", []string{"go test"}, commands(proof.Criterion{}, checks))
	check.Equal(t, "none tests", []string{"go vet"}, commands(proof.Criterion{}, checks[:1]))
	check.Equal(t, "its own", []string{"sh own.sh"}, commands(proof.Criterion{}, append(checks, gate("sh own.sh", true, false))))
	check.Equal(t, "a command", []string{"go vet"}, commands(proof.Criterion{Commands: []string{"go  vet"}}, checks))
}
