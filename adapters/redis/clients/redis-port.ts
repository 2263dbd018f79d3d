/**
 * The port of a Redis client. The client may send a command again on its own, lose its reply or keep it for ever:
 * scripts can safely be sent again, and every call has a time limit above it. A rejection means that the outcome is
 * unknown, unless it is an error reply of the server.
 */
export interface RedisPort {
  /** A script in a cluster uses one slot, so a batch becomes one script call for each shard. */
  readonly isCluster: boolean
  /** All commands go over one connection. */
  readonly isOneLine: boolean
  /** `host:port`, for people; `undefined` for a cluster, or if the client does not tell. */
  readonly address?: string | undefined
  /** Calls `listener` with each error of a connection, until the returned function is called. */
  onError?(listener: (error: unknown) => void): () => void
  /** Runs one script, on the primary that has its keys. */
  run(call: ScriptCall): Promise<unknown>
  /**
   * Runs scripts whose keys are on one primary, and a raw command after them, all on one connection and in this order:
   * a WAIT covers only the writes of its own connection. Resolves with the replies in order. Rejects if one of them is
   * an error, or if the connection changed in between.
   */
  runBefore(calls: readonly ScriptCall[], last: readonly string[]): Promise<readonly unknown[]>
  /** Calls `listener` whenever the client has reconnected, until the returned function is called. */
  onReady(listener: () => void): () => void
  /** Every primary. */
  nodes(): Promise<readonly RedisNode[]>
}

export interface RedisNode {
  /** An address, for people. It must be stable. */
  readonly name: string
  /** Runs a raw command, without the key prefix of the client. */
  command(words: readonly string[]): Promise<unknown>
}

export interface ScriptCall {
  /** `sha`: the server must know the script already. */
  readonly by: 'sha' | 'lua'
  readonly script: string
  /** The first `keys` words are keys, the rest are arguments. */
  readonly keys: number
  readonly words: readonly Argument[]
}

export type Argument = string | number
