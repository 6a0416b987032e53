"""Make docs/form-light.png and docs/form-dark.png: the labelling form in JupyterLab at 1280 x 800.

python docs/screenshot_form.py
"""

import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from lab import SCREEN, chromium, jupyterlab  # noqa: E402

SAMPLE = """
from rag_pilot.grading.form import label_form
from rag_pilot.grading.items import Item, ShownPassage
from rag_pilot.grading.labels import LabelStore

STAFF = frozenset({"all-staff"})
LINK = "https://intranet.kestrelmoor.example/docs/"


def passage(number, doc, title, headings, text, updated, cited=False):
    return ShownPassage(number, text, STAFF, doc, title, headings, LINK + doc, updated, cited)


PASSAGES = (
    passage(1, "notes-de-frais-lyon", "Notes de frais – Lyon", ("Repas", "Soirée étape"),
        "Le plafond du dîner en déplacement est de 32 € par personne, boissons comprises. En région parisienne il est "
        "porté à 38 €. Le justificatif est obligatoire dès le premier euro ; un relevé de carte "
        "bancaire ne suffit pas.\\nLes repas pris avec un client suivent la règle des invitations (FIN-017).",
        "2026-03-14", True),
    passage(2, "notes-de-frais-lyon", "Notes de frais – Lyon", ("Délais",),
        "La NDF est déposée dans Roster avant le 5 du mois suivant. Passé ce délai, elle est reportée d’un mois. "
        "Au-delà de 90 jours, le remboursement demande l’accord de la direction financière.", "2026-03-14", True),
    passage(3, "deplacements-france", "Déplacements en France", ("Hôtel",),
        "L’hôtel est réservé par le service des achats, au plus 110 € la nuit, 150 € à Paris.", "2025-11-02"),
    passage(4, "accueil-nouveaux-lyon", "Accueil des nouveaux – Lyon", ("Première semaine",),
        "Le badge, l’ordinateur et les chaussures SB-210 sont remis le premier jour par Thibault Grangeneuve.",
        "2026-01-20"),
)


def items(count=50):
    first = Item("f017", "run", "sha-first",
        "j’ai dîné à Paris en déplacement, c’est remboursé jusqu’à combien et il faut rendre la NDF avant quand ?",
        "En région parisienne, le plafond du dîner est porté à 38 € par personne, boissons comprises [1]. La NDF doit "
        "être déposée dans Roster avant le 5 du mois suivant [2]. Un relevé de carte bancaire suffit comme "
        "justificatif [1].",
        PASSAGES, "38 € par personne en région parisienne, avec justificatif ; "
        "NDF déposée dans Roster avant le 5 du mois suivant.",
        "notes-de-frais-lyon", "Notes de frais – Lyon", LINK + "notes-de-frais-lyon", "2026-03-14", STAFF, 18)
    rest = [Item(f"f{n:03}", "run", f"sha-{n}", f"question {n}", "réponse [1]", PASSAGES[:1], "attendue",
        "notes-de-frais-lyon", doc_groups=STAFF, position=n if n < 18 else n + 1) for n in range(1, count)]
    return [first, *rest]


def sample_form(language="fr"):
    from pathlib import Path
    from rag_pilot.records import Label
    store = LabelStore(Path("labels.jsonl"))
    if not store.read():
        for item in items()[1:18]:
            store.add(Label(item.question_id, item.answer_sha, "Sylvaine", "correct", position=item.position))
    return label_form(items(), store, "Sylvaine", seed=1, groups=STAFF, language=language)
"""


def main() -> None:
    """Open the form in both themes; press 2 first, so that the question why is on the picture."""
    with tempfile.TemporaryDirectory() as folder, jupyterlab(Path(folder)) as lab, chromium() as browser:
        (lab.root / "sample.py").write_text(SAMPLE, encoding="utf-8")
        page = browser.new_page(viewport=SCREEN)
        lab.open(page, "labels.ipynb", ["from sample import sample_form\n\nsample_form()"])
        for theme in ("light", "dark"):
            change = f"'apputils:change-theme', {{theme: 'JupyterLab {theme.title()}'}}"
            page.evaluate(f"void window.jupyterapp.commands.execute({change})")
            lab.run_all(page)
            page.wait_for_selector(".rp-question")
            page.wait_for_timeout(1200)  # the theme's style sheets
            if theme == "light":
                page.keyboard.press("2")
                page.wait_for_selector(".rp-prompt")
                page.keyboard.press("7")
                page.wait_for_selector("[data-key='7'][aria-pressed=true]")
            else:
                page.keyboard.press("ArrowLeft")
                page.wait_for_selector("[data-key='7'][aria-pressed=true]")
            page.wait_for_timeout(300)
            page.screenshot(path=HERE / f"form-{theme}.png")


if __name__ == "__main__":
    main()
