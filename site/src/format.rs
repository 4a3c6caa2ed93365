//! Numbers as text.
//!
//! Digits come from integer arithmetic: the standard library's float formatting would be a tenth of a browser module.

/// Three significant digits, never in scientific notation: `0.00123`, `4.56`, `789`, `12346`.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "not finite".to_owned();
    }
    let mut decimals = 2;
    let mut bound = 10.0;
    while value.abs() >= bound && decimals > 0 {
        decimals -= 1;
        bound *= 10.0;
    }
    bound = 1.0;
    while value.abs() < bound && decimals < 12 && value != 0.0 {
        decimals += 1;
        bound /= 10.0;
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    fixed(value, decimals)
}

/// A fixed number of decimals.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    let mut unit = 1.0;
    for _ in 0..decimals {
        unit *= 10.0;
    }
    let scaled = (value.abs() * unit).round() as u64;
    let digits = format!("{scaled:0>width$}", width = decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    let sign = if value < 0.0 && scaled > 0 { "-" } else { "" };
    let point = if decimals > 0 { "." } else { "" };
    format!("{sign}{whole}{point}{fraction}")
}

/// An error: two significant digits, scientific: `1.2e-6`.
pub(crate) fn error(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return "not finite".to_owned();
    }
    let (mut mantissa, mut exponent) = (value.abs(), 0i32);
    // 9.95 would round to 10.0.
    while mantissa >= 9.95 {
        mantissa /= 10.0;
        exponent += 1;
    }
    while mantissa < 0.995 {
        mantissa *= 10.0;
        exponent -= 1;
    }
    format!("{}e{exponent}", fixed(mantissa, 1))
}

/// Bytes in the unit a person would choose.
pub(crate) fn bytes(value: u64) -> String {
    const GIB: u64 = 1 << 30;
    const MIB: u64 = 1 << 20;
    const KIB: u64 = 1 << 10;
    let (unit, name) = match value {
        GIB.. => (GIB, "GiB"),
        MIB.. => (MIB, "MiB"),
        _ => (KIB, "KiB"),
    };
    format!("{} {name}", number(value as f64 / unit as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_significant_digits() {
        let shown: Vec<String> = [
            0.001_234, 0.4567, 1.0, 4.567, 45.67, 456.7, 12_345.6, 0.0, -2.5,
        ]
        .into_iter()
        .map(number)
        .collect();
        assert_eq!(
            shown,
            [
                "0.00123", "0.457", "1.00", "4.57", "45.7", "457", "12346", "0", "-2.50"
            ]
        );
        assert_eq!(number(f64::NAN), "not finite");
    }

    #[test]
    fn errors_are_scientific() {
        let shown: Vec<String> = [1.23e-6, 0.0, 9.96e-4, 42.0, 1.0]
            .into_iter()
            .map(error)
            .collect();
        assert_eq!(shown, ["1.2e-6", "0", "1.0e-3", "4.2e1", "1.0e0"]);
    }
}
