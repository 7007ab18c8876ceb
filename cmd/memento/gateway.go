package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"

	"memento"
	"memento/backend/storeurl"
	"memento/gateway"
	"memento/server"

	"github.com/spf13/cobra"
)

func (a *app) gatewayCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "gateway",
		Short: "Check the gateway for the Messages API, and manage its keys",
		Long: `With --gateway, "memento serve" is also a gateway for the Messages API: applications use
it by its base URL and get a memory, unchanged. docs/gateway.md describes it.`,
		Example: `  memento gateway check --gateway https://api.anthropic.com --gateway-key-file key.txt
  memento serve --gateway https://api.anthropic.com --gateway-key-file key.txt
  memento --encryption-keys encryption.json gateway keys set < key.txt`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(a.gatewayCheckCommand(), a.gatewayKeysCommand())
	return c
}

func (a *app) gatewayCheckCommand() *cobra.Command {
	var f *configFlags
	var model string
	c := &cobra.Command{
		Use:   "check",
		Short: "Try the gateway of a configuration with real requests",
		Long: `Check sends requests to the upstream of a gateway, and prints what it finds: whether the
upstream answers and accepts the key, which models it lists, whether it counts tokens,
and whether it has the memory tool, context editing and compaction itself. Then a model
saves a text through the gateway and reads it again in a stream, with a temporary store
in memory. The stores of the backend are not used.

It accepts the flags of "serve". It uses the key that the server holds for the workspace,
else the one in the environment variable ANTHROPIC_API_KEY. The requests are small, but an upstream may
charge for them.

A line begins with "ok", with "missing" for what the upstream lacks without harm, or with
"failed"; after a failure the rest is left out. The exit code is 1 if a step has failed,
and 6 if the configuration is invalid.`,
		Example: `  memento gateway check --gateway https://api.anthropic.com --gateway-key-file key.txt
  memento gateway check --config memento.yaml --model claude-haiku-4-5
  memento gateway check --gateway http://127.0.0.1:11434 --model qwen3 --emulate memory --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.checkGateway(cmd.Context(), f, model) },
	}
	f = a.addConfigFlags(c)
	c.Flags().StringVar(&model, "model", "", "`NAME` of the model (default: a small one of those that the upstream lists)")
	return c
}

// What "gateway check --json" writes: a line for each step, then a summary.
type (
	gatewayStepJSON struct {
		Type   string `json:"type"` // "memento_gateway_step"
		Step   string `json:"step"`
		Result string `json:"result"` // "ok", "missing" or "failed"
		Detail string `json:"detail"`
		Next   string `json:"next,omitempty"` // what to do about it
	}
	gatewayCheckJSON struct {
		Type     string   `json:"type"` // "memento_gateway_check"
		Upstream string   `json:"upstream"`
		Works    bool     `json:"works"`
		Missing  []string `json:"missing"` // names of steps
		Failed   string   `json:"failed,omitempty"`
	}
)

func (a *app) checkGateway(ctx context.Context, f *configFlags, model string) error {
	c, err := a.loadChecked(f)
	if err != nil {
		return a.reportConfigErrors(err)
	}
	if c.Gateway.URL == "" {
		return usage("the configuration has no gateway: give its upstream with --gateway, for example --gateway https://api.anthropic.com")
	}
	b, err := storeurl.Open(ctx, "mem:", nil)
	if err != nil {
		return err
	}
	defer b.Close()
	check := server.GatewayCheck{Backend: b, Detector: a.detector, Workspace: a.workspace(), Key: strings.TrimSpace(os.Getenv("ANTHROPIC_API_KEY")), Model: model}
	if c.Encryption.KeysFile == "" && strings.TrimSpace(os.Getenv(encryptionKeysVariable)) == "" {
		return a.tryGateway(ctx, &c, check)
	}
	a.backendURL, a.encryptionFile, a.encryptNames = c.Backend, c.Encryption.KeysFile, c.Encryption.Names
	err = a.withAccess(ctx, reading, func(held memento.Backend) error {
		check.Keys = gateway.NewKeys(held)
		return a.tryGateway(ctx, &c, check)
	})
	if errors.Is(err, memento.ErrNotExist) { // the server would make it
		return a.tryGateway(ctx, &c, check)
	}
	return err
}

// tryGateway makes the check, and prints its steps.
func (a *app) tryGateway(ctx context.Context, c *server.Config, check server.GatewayCheck) error {
	steps, err := c.CheckGateway(ctx, check)
	if err != nil {
		return err
	}
	sum := gatewayCheckJSON{Type: "memento_gateway_check", Upstream: c.Gateway.URL, Works: true, Missing: []string{}}
	for s := range steps {
		switch s.Result {
		case gateway.StepMissing:
			sum.Missing = append(sum.Missing, s.Name)
		case gateway.StepFailed:
			sum.Works, sum.Failed = false, s.Name
		}
		if err := a.printGatewayStep(s); err != nil {
			return err
		}
	}
	if err := cmp.Or(ctx.Err(), a.out.Flush()); err != nil {
		return err
	}
	switch {
	case a.json:
		if err := a.writeJSON(sum); err != nil {
			return err
		}
	case sum.Works:
		a.say("the gateway works with this configuration")
	}
	if !sum.Works {
		return silence(exitFailure)
	}
	return nil
}

func (a *app) printGatewayStep(s gateway.Step) error {
	if a.json {
		return a.writeJSON(gatewayStepJSON{Type: "memento_gateway_step", Step: s.Name, Result: s.Result, Detail: s.Detail, Next: s.Next})
	}
	if err := a.print("%-7s  %-15s  %s\n", s.Result, s.Name, line(s.Detail)); err != nil {
		return err
	}
	if s.Next != "" {
		if err := a.print("%26s%s\n", "", line(s.Next)); err != nil {
			return err
		}
	}
	return a.out.Flush() // a step can take long
}
