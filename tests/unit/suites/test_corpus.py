"""What a suite says of itself."""

from pytest_mtarena.records import SuiteSettings
from pytest_mtarena.suites.corpus import open_corpus


def test_a_file_without_an_envelope_takes_its_provenance_from_its_entries(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("id\tsrc\tref\tprovenance\na\tone\tum\tdemo\nb\ttwo\tdois\tdemo\n")
    suite = open_corpus(path, SuiteSettings())
    assert suite.provenance == ("demo",)
    assert not suite.rankable
