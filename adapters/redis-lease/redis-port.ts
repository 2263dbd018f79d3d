/**
 * A client of Redis, as the lease sees it. It may send a command again by itself, lose its reply or keep it for ever: scripts
 * are safe to be sent again, and every call has a time limit above it. A rejection means that nobody knows, unless it is an
 * error that the server has answered.
 */
export interface RedisPort {
  /** A script of a cluster touches one slot: a batch then becomes one script for each shard. */
  readonly isCluster: boolean
  /** All commands go over one connection. */
  readonly isOneLine: boolean
  /** One script, on the primary that has its keys. */
  run(call: ScriptCall): Promise<unknown>
  /**
   * Scripts whose keys one primary has, and a raw command behind them, all on one connection and in this order: what waits for
   * writes waits for those of its own connection only. Replies in that order; rejects where one of them is an error, or where
   * the connection changed in between.
   */
  runBefore(calls: readonly ScriptCall[], last: readonly string[]): Promise<readonly unknown[]>
  /** Calls `listener` whenever its client has connected anew, until the returned function is called. */
  onReady(listener: () => void): () => void
  /** Every primary. */
  nodes(): Promise<readonly RedisNode[]>
}

export interface RedisNode {
  /** For people, and the same over time: an address. */
  readonly name: string
  /** A raw command. The client's own prefix of keys, if it has one, is not set before anything. */
  command(words: readonly string[]): Promise<unknown>
}

export interface ScriptCall {
  /** `sha`: the server must know the script. */
  readonly by: 'sha' | 'lua'
  readonly script: string
  /** So many keys, then the arguments. */
  readonly keys: number
  readonly words: readonly Argument[]
}

export type Argument = string | number
