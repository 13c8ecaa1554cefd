/** Types of protocol version 1, unstable parts included. */
export type * from "@agentclientprotocol/sdk/unstable";
