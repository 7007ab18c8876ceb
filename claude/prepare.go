package claude

import (
	"slices"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"memento"
)

// Params are the parameters that [Prepare] takes: of one message, of a tool runner, or
// of a message thread.
type Params interface {
	anthropic.BetaMessageNewParams | anthropic.BetaToolRunnerParams | anthropic.BetaMessageThreadCreateParams
}

// Options are the options of [Prepare]; nil means all defaults.
type Options struct {
	// Edits are the edits of the context that the API makes, in any order. Nil means
	// ClearToolUses; an empty list means none.
	Edits []Edit
	// Guidance is added to the end of the system prompt, each text as a block: see
	// Tidy, Facts, Topic and Project.
	Guidance []string
}

// Prepare returns params with the memory tool, the edits of the context with the betas
// that they need, and the guidance. What the model does not support is left out, and
// what params have already is not added again: an edit of the same type stays as it is.
//
// The result depends on the arguments alone, so the prompt cache holds. Prepare the
// params of all requests of a conversation with the same options. The slices of params
// are not changed.
func Prepare[P Params](params P, opts *Options) P {
	var o Options
	if opts != nil {
		o = *opts
	}
	f := fieldsOf(&params)
	support := SupportOf(*f.model)
	if support.Memory {
		*f.tools = withTool(*f.tools)
	}
	edits := o.Edits
	if edits == nil {
		edits = []Edit{ClearToolUses()}
	}
	f.context.Edits = withEdits(f.context.Edits, edits, support)
	for _, edit := range f.context.Edits {
		*f.betas = with(*f.betas, kindOf(edit).beta())
	}
	*f.system = withGuidance(*f.system, o.Guidance)
	return params
}

// fields are the parts of parameters that Prepare changes.
type fields struct {
	model   *anthropic.Model
	tools   *[]anthropic.BetaToolUnionParam
	system  *[]anthropic.BetaTextBlockParam
	context *anthropic.BetaContextManagementConfigParam
	betas   *[]anthropic.AnthropicBeta
}

func fieldsOf(params any) fields {
	switch p := params.(type) {
	case *anthropic.BetaToolRunnerParams:
		return fieldsOf(&p.BetaMessageNewParams)
	case *anthropic.BetaMessageNewParams:
		return fields{&p.Model, &p.Tools, &p.System, &p.ContextManagement, &p.Betas}
	case *anthropic.BetaMessageThreadCreateParams:
		return fields{&p.Model, &p.Tools, &p.System, &p.ContextManagement, &p.Betas}
	}
	panic("claude.Prepare: unknown type of parameters") // the constraint has no others
}

// withTool appends the memory tool: at the end, so that a cache breakpoint on the
// caller's last tool keeps its prefix.
func withTool(tools []anthropic.BetaToolUnionParam) []anthropic.BetaToolUnionParam {
	for _, t := range tools {
		if t.OfMemoryTool20250818 != nil {
			return tools
		}
		if name := t.GetName(); name != nil && *name == memento.ToolName {
			return tools // the caller's own tool of this name
		}
	}
	return append(slices.Clip(tools), anthropic.BetaToolUnionParam{OfMemoryTool20250818: &anthropic.BetaMemoryTool20250818Param{}})
}

func withGuidance(system []anthropic.BetaTextBlockParam, guidance []string) []anthropic.BetaTextBlockParam {
	system = slices.Clip(system)
	for _, text := range guidance {
		same := func(block anthropic.BetaTextBlockParam) bool { return block.Text == text }
		if text != "" && !slices.ContainsFunc(system, same) {
			system = append(system, anthropic.BetaTextBlockParam{Text: text})
		}
	}
	return system
}

// with appends value unless list has it.
func with[T comparable](list []T, value T) []T {
	if slices.Contains(list, value) {
		return list
	}
	return append(slices.Clip(list), value)
}
