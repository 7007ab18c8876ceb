package gateway

// A turnState is what the application does not see of a turn of the assistant.
type turnState struct {
	Rounds []hiddenRound
	// Last is the content of the turn's last message, with the memory calls in it, as
	// elements. Results answer these calls; the application answers the others.
	Last    [][]byte
	Results [][]byte
}

// A hiddenRound is a message of the assistant, and the one that answers it: the elements
// of their contents.
type hiddenRound struct {
	Assistant [][]byte
	Results   [][]byte
}

// A foundTurn is a message of the assistant with its hidden rounds.
type foundTurn struct {
	at    int // of the messages
	state *turnState
}

// restore returns the messages of the request with the hidden rounds put back, and
// prepares the conversation for the new one.
//
// Errors: errTooMuch.
func (c *conversation) restore() ([]byte, error) {
	var turns []int // of the assistant, alone
	var keys []chainKey
	list := make([]object, len(c.request.messages))
	for i, raw := range c.request.messages {
		m, err := parseObject(raw)
		if err != nil {
			return c.request.get("messages"), nil // the upstream says what is wrong
		}
		list[i] = m
		role := m.str("role")
		alone := role != c.chain.role && (i+1 == len(list) || roleOf(c.request.messages[i+1]) != role)
		c.chain.begin(role)
		for _, b := range contentOf(m) {
			c.chain.add(b)
		}
		if role != "assistant" || !alone {
			continue
		}
		turns, keys = append(turns, i), append(keys, c.chain.sum())
	}
	states, err := c.g.c.State.getAll(c.in.Context(), c, keys, c.g.c.MaxBody)
	if err == errTooMuch {
		return nil, err
	}
	if err != nil && c.in.Context().Err() == nil {
		c.g.c.Logger.WarnContext(c.in.Context(), "gateway: hidden rounds were not read", "error", err)
	}
	var found []foundTurn
	for n, i := range turns {
		if state := states[n]; state != nil && (len(state.Results) == 0 || i+1 < len(list) && isList(c.request.messages[i+1])) {
			found = append(found, foundTurn{i, state})
		}
	}
	if n := len(list); n > 0 && list[n-1].str("role") == "assistant" {
		c.goesOn(list[n-1], found)
	}
	if len(found) == 0 {
		return c.request.get("messages"), nil
	}
	c.restored = true
	return c.putBack(list, found), nil
}

// isList reports whether a message is the user's and has a list of blocks.
func isList(raw []byte) bool {
	m, err := parseObject(raw)
	if err != nil || m.str("role") != "user" {
		return false
	}
	content := m.get("content")
	return len(content) > 0 && content[0] == '['
}

func roleOf(raw []byte) string {
	m, err := parseObject(raw)
	if err != nil {
		return ""
	}
	return m.str("role")
}

// contentOf returns the blocks of a message. A text is a text block.
func contentOf(m object) []object {
	content := m.get("content")
	if len(content) > 0 && content[0] == '"' {
		text, err := parseObject(append(append([]byte(`{"type":"text","text":`), content...), '}'))
		if err != nil {
			return nil
		}
		return []object{text}
	}
	list, err := elements(content)
	if err != nil {
		return nil
	}
	var blocks []object
	for _, raw := range list {
		if b, err := parseObject(raw); err == nil {
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// goesOn prepares for an answer that continues the last message: a paused turn, or words
// that the application has put into the model's mouth.
func (c *conversation) goesOn(last object, found []foundTurn) {
	n := len(found)
	if n > 0 && found[n-1].at == len(c.request.messages)-1 {
		c.hidden.Rounds = append(c.hidden.Rounds, found[n-1].state.Rounds...)
		c.prefix = found[n-1].state.Last
		return
	}
	for _, b := range contentOf(last) {
		c.prefix = append(c.prefix, b.text)
	}
}

// putBack returns the list of messages with the hidden rounds.
func (c *conversation) putBack(list []object, found []foundTurn) []byte {
	var all [][]byte
	var results [][]byte // that the next message begins with
	for i, m := range list {
		raw := m.text
		if results != nil {
			content, err := elements(m.get("content"))
			if err == nil {
				raw = m.set("content", listOf(append(results, content...))).text
			}
			results = nil
		}
		if len(found) > 0 && found[0].at == i {
			state := found[0].state
			found = found[1:]
			for _, r := range state.Rounds {
				all = append(all, message("assistant", listOf(r.Assistant)), message("user", listOf(r.Results)))
			}
			raw = m.set("content", listOf(withBreakpoint(state.Last, m))).text
			results = state.Results
		}
		all = append(all, raw)
	}
	return listOf(all)
}

// withBreakpoint returns blocks with the cache_control that the application has put on
// the last block of a message, if it has.
func withBreakpoint(blocks [][]byte, m object) [][]byte {
	shown := contentOf(m)
	if len(shown) == 0 || shown[len(shown)-1].get("cache_control") == nil {
		return blocks
	}
	control := shown[len(shown)-1].get("cache_control")
	edited := append([][]byte(nil), blocks...)
	for i := len(edited) - 1; i >= 0; i-- {
		b, err := parseObject(edited[i])
		if err != nil {
			break
		}
		switch b.str("type") {
		case "thinking", "redacted_thinking":
			continue // they cannot have one
		}
		edited[i] = b.set("cache_control", control).text
		break
	}
	return edited
}

// keep stores what the application does not see of the turn that ends with a. results
// are those of its memory calls, nil if they were not executed.
func (c *conversation) keep(a answer, results [][]byte) {
	if !c.keeps || len(c.hidden.Rounds) == 0 && len(results) == 0 {
		return
	}
	c.show(a)
	if c.chain.empty() {
		return // there is nothing that the application could send back
	}
	c.hidden.Last = c.prefix
	for _, b := range a.blocks {
		if results != nil || !b.isMemory() {
			c.hidden.Last = append(c.hidden.Last[:len(c.hidden.Last):len(c.hidden.Last)], b.raw)
		}
	}
	c.hidden.Results = results
	if err := c.g.c.State.put(c.in.Context(), c, c.chain.sum(), &c.hidden); err != nil {
		c.g.c.Logger.WarnContext(c.in.Context(), "gateway: hidden rounds were not kept", "error", err)
	}
}

// show adds what the application sees of an answer to the chain.
func (c *conversation) show(a answer) {
	c.chain.begin("assistant")
	for _, raw := range c.visible(a) {
		if b, err := parseObject(raw); err == nil {
			c.chain.add(b)
		}
	}
}

// hide adds a round that the application sees only in part.
func (c *conversation) hide(a answer, results [][]byte) {
	content := c.prefix
	for _, b := range a.blocks {
		content = append(content[:len(content):len(content)], b.raw)
	}
	c.prefix = nil
	c.show(a)
	c.hidden.Rounds = append(c.hidden.Rounds, hiddenRound{content, results})
	c.messages = appended(c.messages, message("assistant", a.content()), message("user", listOf(results)))
}
