//! Ranges of pages, as people type them into a print dialog.

/// Why a text is not a list of pages.
#[derive(Debug, PartialEq)]
pub enum Error {
    /// A part is neither a number nor a range.
    Syntax(String),
    /// A range ends before it begins, or there is a page 0.
    Empty(String),
}

/// Returns the pages of a text such as `1-3,8`.
///
/// ```
/// assert_eq!(pages::parse("1-3,8"), Ok(vec![1, 2, 3, 8]));
/// ```
pub fn parse(text: &str) -> Result<Vec<u32>, Error> {
    let mut pages = Vec::new();
    for part in text.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| {
            text.trim().parse::<u32>().map_err(|_| Error::Syntax(part.to_string()))
        };
        let (from, to) = (number(from)?, number(to)?);
        if from == 0 || to < from {
            return Err(Error::Empty(part.to_string()));
        }
        pages.extend(from..=to);
    }
    Ok(pages)
}

/// Returns how many sheets of paper the pages need.
pub fn sheets(pages: usize, duplex: bool) -> usize {
    if duplex {
        pages.div_ceil(2)
    } else {
        pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_pages() {
        assert_eq!(parse("3"), Ok(vec![3]));
        assert_eq!(parse("3, 1"), Ok(vec![3, 1]));
    }

    #[test]
    fn backwards() {
        assert_eq!(parse("5-2"), Err(Error::Empty("5-2".into())));
        assert_eq!(parse("0"), Err(Error::Empty("0".into())));
    }

    #[test]
    fn sheets_of_paper() {
        assert_eq!(sheets(5, false), 5);
        assert_eq!(sheets(5, true), 3);
    }
}
