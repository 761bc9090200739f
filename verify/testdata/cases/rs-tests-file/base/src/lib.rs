/// Celsius of Fahrenheit.
///
/// ```
/// assert_eq!(temp::celsius(212.0), 100.0);
/// ```
pub fn celsius(f: f64) -> f64 {
    (f - 32.0) / 1.8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freezing() {
        assert_eq!(celsius(32.0), 0.0);
    }

    #[test]
    fn body() {
        assert!((celsius(98.6) - 37.0).abs() < 1e-9);
    }
}
