/// Every key of the configuration, made from the settings that the decoder itself reads with.
package enum Schema {
    /// In the order of the file; tables are not listed, only what is in them.
    package static let keys: [SchemaKey] = Configuration.schemaKeys
}
