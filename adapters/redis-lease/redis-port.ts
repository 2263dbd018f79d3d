/**
 * A client of Redis, as the lease sees it. It may send a command again by itself, lose its reply or keep it for ever: scripts
 * are safe to be sent again, and every call has a time limit above it. A rejection means that nobody knows, unless it is an
 * error that the server has answered.
 */
export interface RedisPort {
  /** A script of a cluster touches one slot: a batch then becomes one script for each shard. */
  readonly isCluster: boolean
  /** One script, on the primary that has its keys. */
  run(call: ScriptCall): Promise<unknown>
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
