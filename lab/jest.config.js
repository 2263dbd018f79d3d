import both from '../jest.config.js'

/** What `npm run lab` runs. */
export default { ...both, rootDir: '..', testMatch: ['<rootDir>/lab/**/*.test.ts'] }
