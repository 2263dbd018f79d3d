import both from '../jest.config.js'

/** What `npm test` runs. */
export default { ...both, rootDir: '..', testMatch: ['<rootDir>/test/**/*.test.ts'] }
