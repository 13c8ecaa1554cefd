/** Types of protocol version 2, unstable parts included. */
export type * from "@agentclientprotocol/sdk/experimental/v2/unstable";
