// Exports for the dashboard, as `consume-once/dashboard`.

export { basicAuth, type BasicAuthOptions } from './basic-auth.ts'
export { dashboard, type Dashboard } from './dashboard.ts'
export {
  dashboardListener,
  serveDashboard,
  type DashboardListener,
  type ServedDashboard,
  type ServeDashboardOptions,
} from './node.ts'
export type { Auth, DashboardOptions, Principal, Redact, RedactedPart } from './options.ts'
