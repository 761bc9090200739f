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
    fn sheets_of_paper() {
        assert_eq!(sheets(5, false), 5);
        assert_eq!(sheets(5, true), 3);
    }
}
