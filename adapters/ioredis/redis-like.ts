/** The slice of an ioredis 5 or 6 client that is used: `Redis` and `Cluster` fit. */
export interface RedisLike {
  evalsha(sha: string, keys: number, ...keysAndArguments: (string | number)[]): Promise<unknown>
  eval(lua: string, keys: number, ...keysAndArguments: (string | number)[]): Promise<unknown>
  readonly isCluster?: boolean
}
