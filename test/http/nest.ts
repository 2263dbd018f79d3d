import type { Server } from 'node:http'

/** What is used of Nest, which is loaded when a test runs: its decorators are called as functions. */
interface Nest {
  readonly Controller: () => (target: object) => void
  readonly Module: (about: object) => (target: object) => void
  readonly Post: (path: string) => (target: object, name: string, descriptor: PropertyDescriptor) => void
  readonly Req: () => (target: object, name: string, index: number) => void
  readonly Res: () => (target: object, name: string, index: number) => void
}

export interface NestApplication {
  listen(port: number, host: string): Promise<unknown>
  getHttpServer(): Server
  close(): Promise<void>
}

interface NestCore {
  readonly NestFactory: { create(module: object, options: object): Promise<NestApplication> }
}

interface MiddlewareConsumer {
  apply(middleware: unknown): { forRoutes(controller: object): unknown }
}

/** An application of Nest on Express with the route POST /pay, which answers by `@Res`; made without decorators. */
export async function nestWith(
  middleware: unknown,
  handler: (request: object, response: object) => unknown,
): Promise<NestApplication> {
  const { Controller, Module, Post, Req, Res } = require('@nestjs/common') as Nest
  const { NestFactory } = require('@nestjs/core') as NestCore
  class Payments {
    async pay(request: object, response: object): Promise<void> {
      await handler(request, response)
    }
  }
  const route = Object.getOwnPropertyDescriptor(Payments.prototype, 'pay') as PropertyDescriptor
  Post('pay')(Payments.prototype, 'pay', route)
  Req()(Payments.prototype, 'pay', 0)
  Res()(Payments.prototype, 'pay', 1)
  Controller()(Payments)
  class App {
    configure(consumer: MiddlewareConsumer): void {
      consumer.apply(middleware).forRoutes(Payments)
    }
  }
  Module({ controllers: [Payments] })(App)
  const app = await NestFactory.create(App, { logger: false })
  await app.listen(0, '127.0.0.1')
  return app
}
