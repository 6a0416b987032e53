"""A pilot of twelve documents and thirty questions, made by `rag-pilot new`: a bicycle hire company of eleven people.

Restricted groups, a document out of date, a Word file, a French page with two French questions, and four questions that
the documents do not answer. Keywords alone are searched, so that no model is loaded.
"""

import json
from pathlib import Path

import docx

from rag_pilot.grading.labels import LabelStore
from rag_pilot.ledger import Ledger
from rag_pilot.pilot import Pilot
from rag_pilot.reading import items
from rag_pilot.records import Label
from rag_pilot.starter import write_starter

STAFF, WORKSHOP, OFFICE = "all-staff", "workshop", "office"
TODAY = "2026-06-01"

DOCUMENTS = {
    "hire-prices": (
        STAFF,
        "Hire desk",
        "2026-04-02",
        "# Hire prices\n\n## Day hire\n\nA city bike costs 18 euros a day. An electric bike costs 34 euros a "
        "day.\n\n## Week hire\n\nA week of a city bike costs 79 euros.\n",
    ),
    "deposits": (
        STAFF,
        "Hire desk",
        "2026-03-11",
        "# Deposits\n\nThe deposit for a city bike is 100 euros. The deposit for an electric bike is 300 "
        "euros. It is paid back within 3 working days.\n",
    ),
    "late-returns": (
        STAFF,
        "Hire desk",
        "2023-02-01",
        "# Late returns\n\nA bike returned late costs 4 euros for each hour that was begun. After 24 hours the "
        "manager calls the customer.\n",
    ),
    "opening-hours": (
        STAFF,
        "Hire desk",
        "2026-05-02",
        "# Opening hours\n\n| Season | Opens | Closes |\n|---|---|---|\n| Summer | 8:30 | 19:00 |\n| Winter | "
        "9:30 | 17:00 |\n\nThe shop is closed on 1 January.\n",
    ),
    "theft-report": (
        STAFF,
        "Office",
        "2026-01-20",
        "# Stolen bikes\n\nA stolen bike is reported on form S-4 on the same day. The police number goes into "
        "box 7 of form S-4.\n",
    ),
    "holidays": (
        STAFF,
        "Office",
        "2026-02-14",
        "# Holidays of staff\n\nEverybody has 27 days of leave a year. Leave in July needs the consent of Ines Roth.\n",
    ),
    "brake-check": (
        WORKSHOP,
        "Head mechanic",
        "2026-03-30",
        "# Brake check\n\nBrake pads are changed below 1.5 mm. The brake cable is changed every 2,000 km.\n",
    ),
    "battery-care": (
        WORKSHOP,
        "Head mechanic",
        "2026-04-18",
        "# Battery care\n\nA battery is stored at 60 % charge. A battery that was dropped goes into the sand "
        "box, never into the rack.\n",
    ),
    "pay-table": (
        OFFICE,
        "Ines Roth",
        "2026-01-05",
        "# Pay table\n\nA mechanic of grade 2 earns 2,640 euros a month. The season bonus is 310 euros.\n",
    ),
    "insurance": (
        OFFICE,
        "Ines Roth",
        "2025-11-08",
        "# Insurance\n\nThe liability policy has the number HX-5521. The own share of each claim is 250 euros.\n",
    ),
    "vols-et-pannes": (
        STAFF,
        "Hire desk",
        "2026-03-03",
        "# Pannes en route\n\nEn cas de panne, le client appelle le 06 11 22. Le dépannage est gratuit dans un "
        "rayon de 12 km.\n",
    ),
}
WORD = ("child-seats", "Child seats", "A child seat carries at most 22 kg. It costs 5 euros a day.")

QUESTIONS = (
    ("What does a city bike cost a day?", "18 euros", "hire-prices", ()),
    ("What does an electric bike cost a day?", "34 euros", "hire-prices", ()),
    ("What is the price of a week with a city bike?", "79 euros", "hire-prices", ()),
    ("How high is the deposit for an electric bike?", "300 euros", "deposits", ()),
    ("How high is the deposit for a city bike?", "100 euros", "deposits", ()),
    ("When is a deposit paid back?", "Within 3 working days.", "deposits", ()),
    ("What does a bike returned late cost for each hour?", "6 euros an hour since January 2026.", "late-returns", ()),
    ("When does the manager call a late customer?", "After 24 hours.", "late-returns", ()),
    ("When does the shop open in summer?", "8:30", "opening-hours", ()),
    ("When does the shop close in winter?", "17:00", "opening-hours", ()),
    ("Is the shop closed on 1 January?", "Yes.", "opening-hours", ()),
    ("On which form is a stolen bike reported?", "Form S-4.", "theft-report", ()),
    ("Where does the police number go?", "Into box 7 of form S-4.", "theft-report", ()),
    ("How many days of leave does everybody have?", "27 days", "holidays", ()),
    ("Who must consent to leave in July?", "Ines Roth", "holidays", ()),
    ("Below how many mm are brake pads changed?", "1.5 mm", "brake-check", (WORKSHOP,)),
    ("How often is the brake cable changed?", "Every 2,000 km.", "brake-check", (WORKSHOP,)),
    ("At which charge is a battery stored?", "60 %", "battery-care", (WORKSHOP,)),
    ("Where does a dropped battery go?", "Into the sand box.", "battery-care", (WORKSHOP,)),
    ("What does a mechanic of grade 2 earn?", "2,640 euros a month", "pay-table", (OFFICE,)),
    ("How high is the season bonus?", "310 euros", "pay-table", (OFFICE,)),
    ("What is the number of the liability policy?", "HX-5521", "insurance", (OFFICE,)),
    ("How much of a claim do we pay ourselves?", "250 euros of each claim.", "insurance", (OFFICE,)),
    ("How heavy may a child in a child seat be?", "At most 22 kg.", "child-seats", ()),
    ("Quel numéro appelle le client en cas de panne ?", "06 11 22", "vols-et-pannes", ()),
    ("Le dépannage est-il gratuit ?", "Oui, dans un rayon de 12 km.", "vols-et-pannes", ()),
    ("Do we hire out tandems?", "", None, ()),
    ("What does a mechanic of grade 2 earn a month, asked by the hire desk?", "", "pay-table", ()),
    ("Which bank gives us credit?", "", None, (OFFICE,)),
    ("May a dog ride along in the trailer?", "", None, ()),
)


def new_pilot(root: Path, name: str = "mypilot") -> Pilot:
    """As `rag-pilot new` leaves it, but for the search: no documents and no questions."""
    folder = write_starter(root / "data", name)
    path = folder / "pilot.toml"
    text = path.read_text(encoding="utf-8").replace('method = "hybrid"', 'method = "keyword"', 1)
    text = text.replace("annotator_groups = []", f'annotator_groups = ["{WORKSHOP}", "{OFFICE}"]', 1)
    text = text.replace("seed = 1", f"seed = 1\nas_of = {TODAY}", 1)
    text = text.replace("# [documents]", '[documents]\nfresh_days = 1095\nfresh = { "hire" = 730 }', 1)
    text = text.replace("needs = []", 'needs = ["changes", "source", "access", "latency"]', 1)
    path.write_text(text, encoding="utf-8")
    return Pilot.open(name, root)


def add_documents(pilot: Pilot) -> None:
    folder = pilot.data / "documents"
    for name, (group, owner, updated, text) in DOCUMENTS.items():
        lang = "fr" if "dépannage" in text else "en"
        head = f"---\ngroups: [{group}]\nowner: {owner}\nupdated: {updated}\nlang: {lang}\n---\n"
        below = folder / {STAFF: "hire", WORKSHOP: "workshop", OFFICE: "office"}[group]
        below.mkdir(exist_ok=True)
        (below / f"{name}.md").write_text(head + text, encoding="utf-8")
    word = docx.Document()
    word.add_heading(WORD[1], 1)
    word.add_paragraph(WORD[2])
    word.save(str(folder / "hire" / f"{WORD[0]}.docx"))
    (pilot.data / "access.csv").write_text(
        f"path,groups,owner,sensitivity\nhire/*.docx,{STAFF},Hire desk,internal\n", encoding="utf-8"
    )


def add_questions(pilot: Pilot) -> None:
    rows = [
        {
            "id": f"q{n:02}",
            "question": question,
            "expected": expected,
            "doc": doc,
            "groups": list(groups),
            "answerable": bool(expected),
            "category": "not in the documents" if not expected else "prices" if "euros" in expected else "rules",
            "lang": "fr" if " ?" in question else "en",
            "source": "chat",
        }
        for n, (question, expected, doc, groups) in enumerate(QUESTIONS, start=1)
    ]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (pilot.data / "questions.jsonl").write_text(text, encoding="utf-8")


def label_all(pilot: Pilot) -> None:
    """What the form asks of the expert, in the form's own store: right where the answer holds what she expects."""
    result, store = Ledger(pilot).result(()), LabelStore(pilot.data / "labels.jsonl")
    for item in items(result):
        said = "correct" if item.expected.rstrip(".").split(",")[0].casefold() in item.answer.casefold() else "wrong"
        line = Label(item.question_id, item.answer_sha, pilot.settings.pilot.annotator, said, position=item.position)
        store.add(line)


def small_pilot(root: Path, name: str = "mypilot") -> Pilot:
    """Documents and questions in their place, criteria locked, nothing run."""
    pilot = new_pilot(root, name)
    add_documents(pilot)
    add_questions(pilot)
    pilot.lock_acceptance()
    return pilot
