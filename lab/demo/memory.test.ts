import { describeDemo } from './contract.ts'

describeDemo('memory', ['pglite', 'redis'])
