import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pilot.corpus.masking import mask

PHONES = [
    "06 12 34 56 78",
    "0612345678",
    "01.42.68.53.00",
    "01-42-68-53-00",
    "+33 6 12 34 56 78",
    "+33 (0)1 42 68 53 00",
    "0033 6 12 34 56 78",
    "22 621 02 51",
    "501 234 567",
    "+48 22 123 45 67",
    "+48501234567",
    "020 7946 0958",
    "(020) 7946 0958",
    "07911 123456",
    "+44 20 7946 0958",
    "+44 (0)20 7946 0958",
    "0044 20 7946 0958",
    "(650) 253-0000",
    "650-253-0000",
    "650.253.0000",
    "1-650-253-0000",
    "+1 650 253 0000",
    "+49 30 123456",
]

NOT_PHONES = [
    "FRM-204, HRF-108 and HX 20",
    "1 500 € and 12 500,00 zł",
    "123 456 789 zł",
    "501 234 567 zł, 501 234 567,00 PLN",
    "€ 501 234 567",
    "EUR 20 7946 0958 EUR",
    "2026-01-31 and 31.01.2026, 31/01/2026 10:15:00",
    "ISO 27001:2022, EN 50131-1, DIN 5008",
    "00417 24_07 123456789012345678",
    "FR76 3000 6000 0112 3456 7890 189",
    "192.168.100.200",
    "4006381333931",
    "order 501234567",
    "1,234,567.89",
    "PO-2026-000123-45",
    "SIRET 732 829 320 00074",
    "NIP 526-000-12-46",
    "PESEL 44051401359",
    "ISBN 978-3-16-148410-0",
    "rooms 12 34 56",
    "§ 12 ust. 3 pkt 4, art. 22 1 2026",
    "a@b, @channel, 5 @ 3.50",
]


@pytest.mark.parametrize("number", PHONES)
@pytest.mark.parametrize("text", ["Call {}, please", "{}", "tel.: {}\nthanks", "zadzwoń ({})", "both {} and FRM-204"])
def test_phone_numbers_of_four_countries_are_masked(number, text):
    assert mask(text.format(number)) == (text.format("[phone]"), 0, 1)


@pytest.mark.parametrize("text", NOT_PHONES)
def test_codes_prices_dates_and_standards_stay(text):
    assert mask(text) == (text, 0, 0)


def test_a_bare_run_of_digits_is_a_phone_number_only_after_such_a_word():
    assert mask("Phone: 501234567, order 501234567") == ("Phone: [phone], order 501234567", 0, 1)
    assert mask("proszę o telefon 501234567") == ("proszę o telefon [phone]", 0, 1)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("mail anna.nowak+x@firma.com.pl.", "mail [e-mail]."),
        ("<o'neil@EXAMPLE.org>", "<[e-mail]>"),
        ("élodie@société.fr ; b@c.de", "[e-mail] ; [e-mail]"),
        ("(mailto:a_b@c-d.io)", "(mailto:[e-mail])"),
    ],
)
def test_addresses_are_masked_and_counted(text, masked):
    assert mask(text) == (masked, masked.count("[e-mail]"), 0)


def test_what_is_masked_is_counted_and_the_rest_stays():
    text = "From: a@b.org, tel 06 12 34 56 78 or +44 20 7946 0958: FRM-204 by 31.01.2026, 12,50 €"
    assert mask(text) == ("From: [e-mail], tel [phone] or [phone]: FRM-204 by 31.01.2026, 12,50 €", 1, 2)


@given(st.text(max_size=60) | st.text(alphabet="0123456789 +-().@ab", max_size=40))
def test_masking_again_finds_nothing_and_a_count_is_a_mark(text):
    masked, emails, phones = mask(text)
    assert masked.count("[e-mail]") - text.count("[e-mail]") == emails
    assert masked.count("[phone]") - text.count("[phone]") == phones
    if not emails and not phones:
        assert masked == text
