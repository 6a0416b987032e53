"""Safe HTML for results: small builders that escape everything, and the one style that tables and figures share.

Text of documents, questions, models and people enters only through `element`, which escapes whatever is not already
`Html`. It knows neither results nor notebooks, and makes no request: nothing is linked but what a person clicks on.
"""

from __future__ import annotations

import base64
import html
import math
import re
from collections.abc import Iterable, Sequence

from ..analysis.shares import Mean, Share

NOT_MEASURED, NO_DATA = "not measured", "no data"
WIDE = 4
"""A table of so many columns has a box of its own, which scrolls by keyboard too where the window is narrow."""

STYLE = """
.rp{color:var(--jp-content-font-color1,#1b1f24);font-family:var(--jp-content-font-family,system-ui,"Segoe UI",Roboto,
Helvetica,Arial,sans-serif);font-size:14px;line-height:1.5;max-width:62rem;margin:0 0 1.2rem}
.rp p,.rp ul,.rp ol,.rp dl{margin:.35rem 0;padding-left:0;max-width:46rem}.rp ul,.rp ol{padding-left:1.3rem}
.rp p.rp-big{font-size:1.7em;font-weight:600;line-height:1.25;margin:.2rem 0 .5rem}
.rp p.rp-note{color:var(--jp-content-font-color2,#4d5560);font-size:.9em}
.rp.rp.rp table{border-collapse:collapse;border:0;font-size:.95em;margin:.7rem 0 .3rem;table-layout:auto;
max-width:100%;min-width:20rem}
.rp.rp.rp caption{caption-side:top;text-align:left;font-weight:600;padding:0 0 .3rem;color:inherit}
.rp.rp.rp :is(th,td){text-align:left;vertical-align:top;padding:.32rem .9rem .32rem 0;border:0;
border-bottom:1px solid var(--jp-border-color2,#d5d9de);overflow-wrap:anywhere;white-space:normal;line-height:1.45;
max-width:30rem}
.rp.rp.rp thead th{overflow-wrap:normal}.rp .rp-scroll{overflow-x:auto}.rp.rp.rp .rp-scroll :is(th,td){min-width:4.5rem}
.rp .rp-scroll:focus-visible{outline:3px solid #d98200;outline-offset:2px}
.rp.rp.rp thead :is(th,td){vertical-align:bottom;
border-bottom:2px solid var(--jp-border-color1,#9aa2ab);font-weight:600;
font-size:.92em}
.rp.rp.rp tbody th{font-weight:500}.rp.rp.rp tbody tr,.rp.rp.rp thead tr{background:none}
.rp.rp.rp :is(th,td).rp-n{text-align:right;font-variant-numeric:tabular-nums}
.rp.rp.rp tr.rp-sum :is(th,td){font-weight:600}
.rp .rp-tag{display:inline-block;padding:0 .5em;border-radius:.7em;font-size:.9em;font-weight:600;white-space:nowrap;
background:#e4e7eb;color:#2b3138;border:1px solid #b9c0c8}
.rp .rp-good{background:#d9e8f6;color:#0a3d66;border-color:#7fb0d8}
.rp .rp-bad{background:#fbe3d6;color:#7a2d00;border-color:#e0a080}
.rp .rp-open{background:#fff3cd;color:#5c4400;border-color:#d9bf6a}
.rp .rp-w{white-space:nowrap}.rp small{color:var(--jp-content-font-color2,#4d5560)}
.rp code{font-size:.92em;overflow-wrap:anywhere}
.rp pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:.85em;padding:.6rem;border:1px solid
var(--jp-border-color2,#d5d9de);background:none;color:inherit}
.rp a{color:var(--jp-content-link-color,#0b5cad)}
.rp progress{width:16rem;max-width:100%;height:.9rem;accent-color:#0072b2}
figure.rp{margin:0 0 1.4rem;padding:0}
figure.rp img{width:768px;max-width:100%;height:auto;background:#fff;
padding:8px;box-sizing:border-box;border-radius:3px;display:block}
figure.rp figcaption{font-size:.92em;max-width:46rem;margin-top:.3rem;color:var(--jp-content-font-color2,#4d5560)}
@media print{.rp{font-size:10px;max-width:none;color:#000}.rp :is(tr,p),figure.rp{break-inside:avoid}
.rp .rp-scroll{overflow:visible}.rp.rp.rp .rp-scroll :is(th,td){min-width:3.4em}
.rp details::details-content{content-visibility:visible;display:block;height:auto}
.rp thead{display:table-header-group}.rp caption{break-after:avoid}.rp :is(th,td){padding-right:.6rem!important}}
""".strip()


class Html(str):
    """Markup in which everything foreign is escaped; made by the functions of this module, shows itself in a notebook.

    Joined with a plain string it is a plain string again, and would be escaped: a mistake shows, it does not run.
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<style>{STYLE}</style>\n{self}"

    def __repr__(self) -> str:
        """What a terminal shows: the words without the markup."""
        text = re.sub(r"</(?:tr|p|caption|figcaption|summary|li|h\d)>", "\n", re.sub(r"</t[hd]>|<br>", "  ", self))
        return html.unescape(re.sub(r"<[^>]*>", "", text)).strip()


def element(name: str, *children: object, **attributes: str | int) -> Html:
    """One element; children that are not `Html` and all attribute values are escaped, `class_` is the class."""
    given = "".join(f' {key.rstrip("_").replace("_", "-")}="{_escaped(str(v))}"' for key, v in attributes.items())
    if name in ("br", "img"):
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{join(children)}</{name}>")


def join(parts: Iterable[object], between: str = "") -> Html:
    """Parts one after the other, escaped unless they are `Html`."""
    return Html(_escaped(between).join(p if isinstance(p, Html) else _escaped(str(p)) for p in parts))


def readable(text: str) -> str:
    """A text with line ends as a browser reads them, without the control characters that no page may hold."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]", "\ufffd", text)


def _escaped(text: str) -> str:
    return html.escape(readable(text), quote=True)


def section(*parts: object, lang: str = "en") -> Html:
    """Parts as one result on the page; a plain string becomes a paragraph, an empty one and None are left out.

    `lang` is said where it is not English.
    """
    said = {} if lang == "en" else {"lang": lang}
    return element("div", *(p if isinstance(p, Html) else paragraph(p) for p in parts if p), class_="rp", **said)


def english_in(html: str, lang: str) -> Html:
    """A piece of a page in that language: marked as English unless its outermost element says that it is in it."""
    outermost = html.rpartition("</style>")[2].partition(">")[0]
    return Html(html if lang == "en" or f'lang="{lang}"' in outermost else f'<div lang="en">{html}</div>')


def paragraph(*parts: object, kind: str = "") -> Html:
    """A paragraph; `kind` is '' or 'big' or 'note'."""
    return element("p", *parts, class_=f"rp-{kind}") if kind else element("p", *parts)


def note(text: object) -> Html:
    """What stands small under a table."""
    return paragraph(text, kind="note")


def listing(items: Iterable[object]) -> Html:
    """A list of sentences."""
    return element("ul", *(element("li", item) for item in items))


def tag(word: str, kind: str = "") -> Html:
    """A word that stands out; `kind` is '' or 'good', 'bad', 'open': the colour only repeats what the word says."""
    return element("span", word, class_=f"rp-tag rp-{kind}" if kind else "rp-tag")


def whole(text: object) -> Html:
    """A text that is not broken over lines, such as a date."""
    return element("span", text, class_="rp-w")


def link(url: str, label: str) -> Html:
    """A link where the address is http, https or relative; else the label alone."""
    address = url.strip().replace(" ", "%20")
    unfit = not address or re.search(r"[\x00-\x20\x7f\\]", address) or address.startswith("//")
    if unfit or not re.match(r"https?://|[^:/?#]*(?:[/?#]|$)", address, re.I):
        return join([label])
    return element("a", label, href=address, rel="noopener noreferrer")


# -- tables ------------------------------------------------------------------------------------------------------------


def cell(value: object) -> Html:
    """A value as a table shows it: None is 'not measured', a share or mean carries its denominator, yes or no."""
    if value is None or isinstance(value, float) and not math.isfinite(value):
        return join([NOT_MEASURED])
    if isinstance(value, bool):
        return join(["yes" if value else "no"])
    if isinstance(value, Share | Mean):
        return join([value.text()])
    return join([f"{value:,}" if isinstance(value, int) else f"{value:.2f}" if isinstance(value, float) else value])


def table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[object]], *, total: bool = False, empty: str = NO_DATA
) -> Html:
    """A table with a caption; the first cell of each row is its header, columns of numbers stand on the right.

    With `total` the last row is a sum. Without rows: the caption and the sentence `empty`.
    """
    lines = [tuple(row) for row in rows]
    if unfit := [line for line in lines if len(line) != len(head)]:
        raise ValueError(f"table {caption!r}: a row of {len(unfit[0])} cells under {len(head)} headings")
    if not lines:
        return join([paragraph(element("strong", caption), ": ", empty)])
    numeric = [all(_is_number(line[i]) for line in lines) for i in range(len(head))]

    def side(column: int) -> dict[str, str | int]:
        return {"class_": "rp-n"} if numeric[column] and column else {}

    heads = [element("th", name, scope="col", **side(i)) if name else element("td") for i, name in enumerate(head)]
    body = []
    for number, line in enumerate(lines, start=1):
        first, *others = (cell(value) for value in line)
        cells = [element("th", first, scope="row"), *(element("td", c, **side(i)) for i, c in enumerate(others, 1))]
        body.append(element("tr", *cells, **({"class_": "rp-sum"} if total and number == len(lines) else {})))
    top = [element("thead", element("tr", *heads))] if any(head) else []
    made = element("table", element("caption", caption), *top, element("tbody", *body))
    if len(head) < WIDE:
        return made
    return element("div", made, class_="rp-scroll", role="group", tabindex=0, aria_label=caption)


def facts(caption: str, rows: Iterable[tuple[str, object]]) -> Html:
    """A table of names and values, without a line of headings."""
    return table(caption, ("", ""), [(name, join([cell(value)])) for name, value in rows])


_NUMBER = r"[+-]?[\d.,<>\u202f]+(?:[ \u202f]?%| points| ms| s| (?:of|sur|z) [\d,\u202f]+)?|not measured|no data|none|–"


def _is_number(value: object) -> bool:
    if isinstance(value, bool):
        return False
    if value is None or isinstance(value, int | float | Share | Mean):
        return True
    return isinstance(value, str) and bool(re.fullmatch(_NUMBER, value))


# -- pictures ----------------------------------------------------------------------------------------------------------


def picture(data: bytes, alt: str, caption: str, kind: str = "svg+xml", lang: str = "en") -> Html:
    """A figure that carries its image inside the page; `alt` states the finding with its numbers.

    `lang` is said where it is not English.
    """
    said = {} if lang == "en" else {"lang": lang}
    source = f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"
    return element("figure", element("img", alt=alt, src=source), element("figcaption", caption), class_="rp", **said)
