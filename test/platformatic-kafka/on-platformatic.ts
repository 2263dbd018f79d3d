import { VARIABLE } from '../kafka/client/variable.ts'

// Imported before a test of test/kafka, which then runs with this client.
process.env[VARIABLE] = 'platformatic'
