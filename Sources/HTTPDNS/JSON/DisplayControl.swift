extension Unicode.Scalar {
    /// Whether it does something to a display instead of standing there: control characters, which terminals obey,
    /// invisible ones that change the order of the text around them, and separators of lines and paragraphs.
    package var isDisplayControl: Bool {
        switch value {
        case 0x20...0x7e: false
        case 0..<0xa0: true
        default:
            switch properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: true
            default: false
            }
        }
    }
}
