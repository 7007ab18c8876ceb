package contextedit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// A Transport edits the requests of a client of the Messages API on their way: it
// wraps the transport of an [http.Client], such as the one of an SDK. Other requests
// pass as they are. It keeps no state, so one Transport serves any number of
// conversations; the client sends its whole history with each request, which means
// without message threads.
//
// It does not compact: see [Compact].
type Transport struct {
	// Config is what is done. If a request has the member context_management, that
	// counts instead, and the upstream does not get it.
	Config Config
	// Options are those of [Config.Edit]; its State is not used.
	Options Options
	// Base sends the requests; nil means [http.DefaultTransport].
	Base http.RoundTripper
	// Edited, if it is set, is called with each edited prompt before it is sent.
	// It may be called concurrently.
	Edited func(Result)
}

// maxBody bounds the body of a request, in bytes. The API takes no more.
const maxBody = 32 << 20

// ErrTooLarge is returned for a request whose body the API would refuse for its size.
var ErrTooLarge = errors.New("contextedit: the request has more than 32 MiB")

// RoundTrip implements [http.RoundTripper]. Errors: [ErrTooLarge], [ErrConfig],
// [ErrMessages], and those of Base.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	if request.Method != http.MethodPost || !strings.HasSuffix(request.URL.Path, "/v1/messages") || request.Body == nil {
		return base.RoundTrip(request)
	}
	body, err := io.ReadAll(io.LimitReader(request.Body, maxBody+1))
	if err = errors.Join(err, request.Body.Close()); err != nil {
		return nil, fmt.Errorf("contextedit: read the request: %w", err)
	}
	if len(body) > maxBody {
		return nil, ErrTooLarge
	}
	if body, err = t.edit(body); err != nil {
		return nil, err
	}
	edited := request.Clone(request.Context())
	edited.Body, edited.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	edited.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return base.RoundTrip(edited)
}

// edit returns the body to be sent.
func (t *Transport) edit(body []byte) ([]byte, error) {
	r, err := ParseRequest(body)
	if err != nil {
		return nil, err
	}
	config := t.Config
	if isSet(r.members["context_management"]) {
		config = r.Config
	}
	o := t.Options
	o.State = State{}
	result, err := config.Edit(r.Prompt, &o)
	if err != nil {
		return nil, err
	}
	if t.Edited != nil {
		t.Edited(result)
	}
	return r.Body(result.Messages), nil
}
