import { describeDemo } from './contract.ts'

describeDemo('rabbitmq', ['pglite', 'postgres', 'redis'])
