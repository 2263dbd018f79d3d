// What people write to mount the dashboard. Checked by tsc, never run.
import { createServer } from 'node:http'
import express from 'express'
import { Hono } from 'hono'
import { defineConsumer, liveSignals, type ConsumeOnceConfig } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { basicAuth, dashboard, dashboardListener, serveDashboard, type Auth } from 'consume-once/dashboard'

declare const config: ConsumeOnceConfig

const live = liveSignals()
defineConsumer({ name: 'sms', store: memoryStore(), handle: () => {}, observe: [live] })

const auth: Auth = (request) => (request.headers.get('x-user') === null ? undefined : { by: 'ana', readOnly: true })
const { consumers, migrations } = config
const board = dashboard({ consumers, migrations, live, auth, basePath: '/ops', redact: ['to'] })

express().use('/ops', dashboardListener(board))
new Hono().all('/ops/*', (context) => board.fetch(context.req.raw))
createServer(dashboardListener(board))
void serveDashboard({ consumers, port: 0, auth: basicAuth({ user: 'ops', password: 'correct horse' }) })

// @ts-expect-error consumers are required
dashboard({ live })
// @ts-expect-error who decided must be known
dashboard({ consumers, auth: () => ({ readOnly: true }) })
// @ts-expect-error a misspelt option
dashboard({ consumers, readonly: false })
