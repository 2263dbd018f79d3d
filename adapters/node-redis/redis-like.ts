/** The slice of a node-redis 5 or 6 client that is used: what `createClient()` and `createCluster()` give fits. */
export interface RedisLike {
  evalSha(sha: string, how: EvalOptions): Promise<unknown>
  eval(lua: string, how: EvalOptions): Promise<unknown>
  withTypeMapping(mapping: Record<string, never>): unknown
  /** Of a cluster alone. */
  readonly masters?: readonly unknown[]
}

export interface EvalOptions {
  keys: string[]
  arguments: string[]
}
