import { describeDemo } from './contract.ts'

describeDemo('kafka', ['pglite', 'postgres', 'redis'])
