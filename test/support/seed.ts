// The same samples at every run, so that no run is green by luck; ACP_SHIFT_PROPERTY_SEED looks for others.
import fc from "fast-check";

fc.configureGlobal({ seed: Number(process.env["ACP_SHIFT_PROPERTY_SEED"] ?? 2026) });
