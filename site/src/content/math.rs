//! LaTeX formulas as MathML, which browsers show without a script.

use math_core::{LatexToMathML, MathCoreConfig, MathDisplay};

/// Converts a formula, or returns the reason why it cannot be converted.
pub(crate) fn mathml(latex: &str, is_display: bool) -> Result<String, String> {
    let display = if is_display {
        MathDisplay::Block
    } else {
        MathDisplay::Inline
    };
    // The configuration defines no macros, so it has none that could fail to parse.
    let converter = LatexToMathML::new(MathCoreConfig::default()).unwrap_or_default();
    converter
        .convert_with_local_state(latex, display)
        .map(|converted| converted.mathml)
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::mathml;

    #[test]
    fn formulas_become_mathml() {
        let html = mathml(r"\frac{1}{n}\sum_i x_i^2", false).expect("a formula");
        assert!(html.starts_with("<math>"), "{html}");
        assert!(html.contains("<mfrac>"), "{html}");
        let html = mathml("x", true).expect("a formula");
        assert!(html.starts_with("<math display=\"block\">"), "{html}");
    }

    #[test]
    fn an_unknown_command_is_an_error() {
        assert!(mathml(r"\nosuchcommand{x}", false).is_err());
        assert!(mathml(r"\frac{1}{", false).is_err());
    }
}
