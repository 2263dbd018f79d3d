import type { Suite } from './suite.ts'
import { cpu } from './suites/cpu.ts'
import { kafka } from './suites/kafka.ts'
import { rabbitmq } from './suites/rabbitmq.ts'

export const SUITES: readonly Suite[] = [cpu, kafka, rabbitmq]
