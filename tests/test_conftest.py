import subprocess
import sys
from pathlib import Path

SLOW = """
import time, pytest
pytestmark = pytest.mark.browser(seconds=.2)

@pytest.fixture
def slow():
    time.sleep(.3)

def test_first(slow): pass
def test_setup_counts(slow): pass
def test_call_counts(): time.sleep(.3)
def test_quick(): pass
@pytest.mark.browser(seconds=5)
def test_may_take_longer(slow): pass
"""


def test_a_browser_test_that_takes_too_long_fails_and_is_named_but_for_the_first_ones_server(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_bytes(Path(__file__).with_name("conftest.py").read_bytes())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = browser\n")
    (tmp_path / "test_slow.py").write_text(SLOW)
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider", str(tmp_path)]
    told = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path).stdout
    assert "2 failed, 3 passed" in told, told
    for name in ("test_setup_counts", "test_call_counts"):
        assert f"test_slow.py::{name} took 0.3 s; expected at most 0.2 s" in told
