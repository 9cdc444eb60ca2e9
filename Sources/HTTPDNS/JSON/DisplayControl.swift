extension Unicode.Scalar {
    /// Whether a display acts on it instead of showing it: control characters, which terminals interpret, invisible
    /// ones that change the order of the text around them, and separators of lines and paragraphs.
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
