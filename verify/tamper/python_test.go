package tamper

import (
	"testing"
)

const pyTwo = `"""Tests of add.

def test_in_a_text(): pytest.skip()
"""
import pytest, unittest


def helper(x):
    return x


def test_one():
    assert add(
        1, 2
    ) == 3


class TestAdd:
    def test_two(self):
        # pytest.skip("not any more")
        assert add("pytest.skip()", '''
def test_three(): pass
''')
`

func TestTamperingWithPython(t *testing.T) {
	t.Parallel()
	replace := edited("test_a.py", pyTwo)
	skipped := func(name, how string) string { return "test newly skipped: " + name + " in test_a.py (" + how + ")" }
	both := func(how string) string { return "tests newly skipped: test_one, test_two in test_a.py (" + how + ")" }
	runTampering(t, map[string]tampering{
		"a file is deleted":         {files{"test_a.py": pyTwo}, nil, []string{"test file deleted: test_a.py (test_one, test_two)"}},
		"a file by its folder":      {files{"tests/a.py": "def test_x(): pass"}, nil, []string{"tests deleted with tests/a.py (test_x)"}},
		"a file is renamed away":    {files{"a_test.py": pyTwo}, files{"a.py": pyTwo}, []string{"test file renamed so that it does not run: a_test.py -> a.py (test_one, test_two)"}},
		"a test is deleted":         replace("def test_one", "def old_one").wants("1 test fewer: test_one in test_a.py"),
		"a test is commented out":   replace("def test_one():", "# def test_one():\nif True:").wants("1 test fewer: test_one in test_a.py"),
		"mark.skip":                 replace("def test_one", "@pytest.mark.skip\ndef test_one").wants(skipped("test_one", "pytest.mark.skip")),
		"mark.skip with a reason":   replace("def test_one", "@pytest.mark.skip(\n    reason='later',\n)\ndef test_one").wants(skipped("test_one", "pytest.mark.skip")),
		"mark.skipif":               replace("def test_one", "@pytest.mark.skipif(sys.platform == 'win32', reason='x')\n@other\ndef test_one").wants(skipped("test_one", "pytest.mark.skipif")),
		"mark.xfail":                replace("def test_one", "@pytest.mark.xfail\nasync def test_one").wants(skipped("test_one", "pytest.mark.xfail")),
		"unittest.skip":             replace("    def test_two", "    @unittest.skip('x')\n    def test_two").wants(skipped("test_two", "unittest.skip")),
		"expectedFailure":           replace("    def test_two", "    @unittest.expectedFailure\n    def test_two").wants(skipped("test_two", "unittest.expectedFailure")),
		"a class is skipped":        replace("class TestAdd", "@pytest.mark.skip\nclass TestAdd").wants(skipped("test_two", "pytest.mark.skip")),
		"pytest.skip":               replace("    assert add(\n", "    pytest.skip('later')\n    assert add(\n").wants(skipped("test_one", "pytest.skip")),
		"a return at once":          replace("    assert add(\n", "    return\n    assert add(\n").wants(skipped("test_one", "it returns at once")),
		"skipTest":                  replace("        # pytest", "        self.skipTest('x')\n        # pytest").wants(skipped("test_two", "self.skipTest")),
		"raise SkipTest":            replace("        # pytest", "        raise unittest.SkipTest\n        # pytest").wants(skipped("test_two", "SkipTest")),
		"a mark for the file":       replace("\n\ndef helper", "\npytestmark = [pytest.mark.slow, pytest.mark.skip]\n\ndef helper").wants(both("pytest.mark.skip")),
		"a skip of the file":        replace("\n\ndef helper", "\nif True:\n    pytest.skip(allow_module_level=True)\n\ndef helper").wants(both("pytest.skip")),
		"a file at its end":         {files{"test_a.py": pyTwo}, files{"test_a.py": pyTwo + "\n__test__ = False\n"}, []string{both("__test__ = False")}},
		"a mark of its own":         replace("def test_one", "later = pytest.mark.skipif(True, reason='')\n\n@later\ndef test_one").wants(skipped("test_one", "pytest.mark.skipif")),
		"a helper skips":            replace("    return x", "    pytest.skip()").wants("helper newly skips tests: helper in test_a.py (pytest.skip)"),
		"a new fixture skips":       replace("def test_one()", "@pytest.fixture\ndef net():\n    pytest.skip()\n\ndef test_one(net)").wants(skipped("test_one", "pytest.skip in net")),
		"a fixture for all":         {nil, files{"conftest.py": "@pytest.fixture(autouse=True)\ndef off():\n    pytest.skip()\n"}, []string{"tests newly silenced: conftest.py (a skip in off)"}},
		"before each":               replace("    def test_two", "    def setup_method(self):\n        pytest.skip()\n\n    def test_two").wants("tests newly silenced: test_a.py (a skip in setup_method)"),
		"a folder is left out":      {files{"conftest.py": ""}, files{"conftest.py": "collect_ignore = ['setup.py', 'unit']\n"}, []string{"tests newly silenced: conftest.py (collect_ignore)"}},
		"what is found is left out": {files{"conftest.py": ""}, files{"conftest.py": "collect_ignore = ['setup.py'] + glob('*')\n"}, []string{"tests newly silenced: conftest.py (collect_ignore)"}},
		"files are left out":        {files{"conftest.py": ""}, files{"conftest.py": "collect_ignore = ['test_a.py']\n"}, []string{"tests newly silenced: conftest.py (collect_ignore)"}},
	})
	// Ordinary work on tests is never reported.
	runTampering(t, map[string]tampering{
		"a new file":                 {nil, files{"test_a.py": pyTwo}, nil},
		"no tests are left out":      {files{"conftest.py": ""}, files{"conftest.py": "collect_ignore = [\n    \"setup.py\",\n    'docs/conf.py',\n]\n"}, nil},
		"a new test":                 replace("def test_one", "def test_zero():\n    pass\n\n\ndef test_one"),
		"a new test that is skipped": replace("def test_one", "@pytest.mark.skip\ndef test_zero():\n    pass\n\n\ndef test_one"),
		"another expectation":        replace("== 3", "== 4"),
		"a test is renamed":          replace("test_one", "test_uno"),
		"a test joins a class":       {files{"test_a.py": "def test_a():\n    pass\n"}, files{"test_a.py": "class TestA:\n    def test_a(self):\n        pass\n"}, nil},
		"a test is moved":            {files{"test_a.py": pyTwo}, files{"test_a.py": "def test_one(): pass", "tests/test_b.py": "def test_two(): pass"}, nil},
		"a parameter":                replace("def test_one()", "@pytest.mark.parametrize('x', [\n    1,\n    2,\n])\ndef test_one(x)"),
		"words in a comment":         replace("def test_one():", "def test_one():  # @pytest.mark.skip"),
		"words in a string":          replace("== 3", "== 'pytest.skip()'"),
		"a text at the beginning":    replace("def test_one():", "def test_one():\n    \"\"\"Was skipped:\n\n@pytest.mark.skip\n    pytest.skip()\n    \"\"\""),
		"a skip is taken away":       {files{"test_a.py": "@pytest.mark.skip\ndef test_a():\n    pass\n"}, files{"test_a.py": "def test_a():\n    pass\n"}, nil},
		"a helper is deleted":        replace("def helper(x):\n    return x\n", ""),
		"a package of tests":         {files{"tests/__init__.py": ""}, nil, nil},
		"code":                       {files{"a.py": pyTwo}, files{"a.py": "x = 1"}, nil},
		"a bracket is lost":          replace("add(\n", "add((\n"),
		"the line ends":              {files{"test_a.py": pyTwo}, files{"test_a.py": crlf(pyTwo)}, nil},
	})
}
