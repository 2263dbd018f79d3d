import type { Suite } from './suite.ts'
import { bytes } from './suites/bytes.ts'
import { cpu } from './suites/cpu.ts'
import { growth } from './suites/growth.ts'
import { kafka } from './suites/kafka.ts'
import { postgres } from './suites/postgres.ts'
import { rabbitmq } from './suites/rabbitmq.ts'
import { redis } from './suites/redis.ts'

export const SUITES: readonly Suite[] = [cpu, kafka, rabbitmq, redis, postgres, growth, bytes]
