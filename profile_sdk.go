package memento

// The texts of the local memory tools in Anthropic's SDKs. What they do differently is
// not imitated: docs/tool.md, "Profiles".

// typeScriptProfile has the texts of BetaLocalFilesystemMemoryTool in the TypeScript
// SDK. Its runner puts "Error: " before every refusal.
func typeScriptProfile() *Profile {
	return &Profile{
		Replaced: "The memory file has been edited. Here is the snippet showing the change (with line numbers):",

		ViewMissing:      "Error: The path {path} does not exist. Please provide a valid path.",
		TooManyLines:     "Error: File {path} has too many lines ({lines}). Maximum is 999,999 lines.",
		ReplaceDirectory: "Error: The path {path} is not a file.",
		NoMatch:          "Error: No replacement was performed, old_str `{old_str}` did not appear verbatim in {path}.",
		ManyMatches:      "Error: No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines: {lines}. Please ensure it is unique",
		InsertMissing:    "Error: The path {path} does not exist. Please provide a valid path.",
		InsertDirectory:  "Error: The path {path} is not a file.",

		ShortSizes: true,
	}
}

// pythonProfile has the texts of BetaLocalFilesystemMemoryTool in the Python SDK. Its
// refusals have no "Error: ".
func pythonProfile() *Profile {
	return &Profile{
		Directory: "Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:",
		Replaced:  "The memory file has been edited. Here is the snippet showing the change (with line numbers):",

		ReplaceMissing:   "The path {path} does not exist. Please provide a valid path.",
		ReplaceDirectory: "The path {path} is not a file.",
		InsertMissing:    "The path {path} does not exist. Please provide a valid path.",
		InsertDirectory:  "The path {path} is not a file.",
		BadInsertLine:    "Invalid `insert_line` parameter: {insert_line}. It should be within the range [0, {lines}].",

		ShortSizes:  true,
		PlainErrors: true, // the other refusals differ in nothing else
	}
}
