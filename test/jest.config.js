import both from '../jest.config.js'

/** What `npm test` runs. A worker of it waits for servers more often than one of the laboratory, so one more runs beside the others. */
export default { ...both, rootDir: '..', testMatch: ['<rootDir>/{test,examples/orm/test}/**/*.test.ts'], maxWorkers: 4 }
