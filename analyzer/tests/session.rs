//! A session gives the same report as a fresh analysis, after any edits.

mod common;

use common::blocks;
use hipward_analyzer::{Language, Options, RULES, Session, analyze, rule_page};

/// Pseudo-random numbers that are the same in every run (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// Typical edits: typing, deleting, pasting, removing a line.
fn edit(text: &str, dice: &mut Dice) -> String {
    const PASTES: [&str; 6] = [
        "x",
        "\n",
        " = é🚀\n",
        "import pynvml\n",
        "\ndef f():\n    return (1,\n",
        "\"\"\"",
    ];
    let at = text.floor_char_boundary(dice.below(text.len() + 1));
    let (before, after) = text.split_at(at);
    match dice.below(3) {
        0 => format!("{before}{}{after}", PASTES[dice.below(PASTES.len())]),
        1 => {
            let gone = after.ceil_char_boundary(dice.below(40).min(after.len()));
            format!("{before}{}", &after[gone..])
        }
        _ => match after.split_once('\n') {
            Some((_, rest)) => format!("{before}{rest}"),
            None => before.to_owned(),
        },
    }
}

#[test]
fn incremental_edits_give_the_report_of_a_fresh_analysis() {
    let options = {
        let mut options = Options::default();
        options.language = Some(Language::Python);
        options
    };
    // Long enough that the parser gets only a part of it.
    let comments = "    # x = 1\n".repeat(40);
    let rules: String = RULES
        .iter()
        .flat_map(|rule| blocks(&rule_page(rule), "Example"))
        .filter(|block| block.language == Language::Python)
        .map(|block| format!("{}\n", block.code))
        .collect();
    let start = format!("def f():\n    y = 0\n{comments}    z = 2\n{rules}{comments}");
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let mut session = Session::default();
    let mut text = start.clone();
    for step in 0..400 {
        // Occasionally a completely new text, as after pasting.
        text = if step % 8 == 0 {
            start.clone()
        } else {
            edit(&text, &mut dice)
        };
        assert_eq!(
            session.analyze(&text, &options),
            analyze(&text, &options),
            "step {step}:\n{text}"
        );
    }
}
