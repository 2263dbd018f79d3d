import { AMQPLIB_MUTANTS } from './amqplib-mutants.ts'
import { CORPUS_MUTANTS } from './corpus-mutants.ts'
import { KAFKAJS_MUTANTS } from './kafkajs-mutants.ts'
import { LIMIT_MUTANTS } from './limit-mutants.ts'
import type { Mutant } from './mutant.ts'
import { MYSQL2_MUTANTS } from './mysql2-mutants.ts'
import { OTHER_MUTANTS } from './other-mutants.ts'
import { PG_LEASE_MUTANTS } from './pg-lease-mutants.ts'
import { PG_MUTANTS } from './pg-mutants.ts'
import { REDIS_MUTANTS } from './redis-mutants.ts'
import { SIMULATOR_MUTANTS } from './simulator-mutants.ts'

/** Mutants of all layers, in the order of the table. */
export const ALL_MUTANTS: readonly Mutant[] = [
  ...SIMULATOR_MUTANTS,
  ...CORPUS_MUTANTS,
  ...AMQPLIB_MUTANTS,
  ...KAFKAJS_MUTANTS,
  ...MYSQL2_MUTANTS,
  ...PG_MUTANTS,
  ...PG_LEASE_MUTANTS,
  ...REDIS_MUTANTS,
  ...LIMIT_MUTANTS,
  ...OTHER_MUTANTS,
]
