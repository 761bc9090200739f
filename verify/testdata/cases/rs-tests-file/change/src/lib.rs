/// Celsius of Fahrenheit.
///
/// ```
/// assert_eq!(temp::celsius(212.0), 100.0);
/// ```
pub fn celsius(f: f64) -> f64 {
    (f - 32.0) / 1.8
}

#[cfg(test)]
mod tests;
