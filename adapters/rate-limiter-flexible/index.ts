export { postgresLimit, type PostgresLimitOptions, type PostgresLimitPool } from './postgres-limit.ts'
export { redisLimit, type RedisLimitClient, type RedisLimitOptions } from './redis-limit.ts'
