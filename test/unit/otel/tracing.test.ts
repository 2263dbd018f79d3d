import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { SpanKind, context, createContextKey, isValidTraceId, propagation, trace } from '@opentelemetry/api'
import { AlwaysOffSampler } from '@opentelemetry/sdk-trace-node'
import { otelTracing } from 'consume-once/otel'
import { TerminalError } from '../../../src/foundation/errors.ts'
import { adminOf, messageId, runInline, type Message, type Store } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import { defineConsumer } from '../../../src/consumer/define-consumer.ts'
import { endRigs, gate, startRig, STYLES, World, type Rig } from '../../kit/rig.ts'
import { durationMsOf, kindOf, linksOf, Spans, statusOf, traceparentOf } from './spans.ts'

const PRODUCER = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const PROCESS = 'process topic'

let spans: Spans

beforeEach(() => {
  spans = new Spans()
})

afterEach(async () => {
  await endRigs()
  await spans.end()
})

function after({ clock }: World, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve))
}

function traced(id: string): { readonly id: string; readonly headers: Readonly<Record<string, unknown>> } {
  return { id, headers: { traceparent: PRODUCER, baggage: 'tenant=7' } }
}

describe.each(STYLES)('spans of a message ($strategy, $handler)', (style) => {
  it('are one process span with its steps, around what the handler calls', async () => {
    const world = new World()
    const rig = await startRig({
      style,
      world,
      trace: otelTracing(),
      effect: async (work) => {
        trace.getTracer('user').startSpan('send sms').end()
        await after(world, 40)
        await work.apply()
      },
    })
    rig.store.script('claim', after(world, 7))
    rig.store.script('mark', after(world, 56))
    await rig.deliver({ id: 'a' })
    for (const ms of [7, 40, 9]) await rig.clock.advance(ms)
    const [process, ...others] = spans.named(PROCESS)
    if (process === undefined) throw new Error(`no process span in ${spans.all.map(({ name }) => name).join()}`)
    expect(others).toEqual([])
    expect(kindOf(process)).toBe('CONSUMER')
    expect(statusOf(process)).toBe('UNSET')
    expect(durationMsOf(process)).toBe(56)
    expect(process.attributes).toMatchObject({
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.destination.name': 'topic',
      'consume_once.consumer': 'consumer',
      'consume_once.strategy': style.strategy,
      'consume_once.verdict': 'claimed',
      'consume_once.attempt': 1,
      'consume_once.outcome': 'handled',
    })
    expect(spans.childrenOf(process)).toEqual(['send sms', 'consume_once.claim', 'consume_once.mark'])
    expect(spans.named('consume_once.claim').map(durationMsOf)).toEqual([7])
    expect(spans.named('consume_once.mark').map(durationMsOf)).toEqual([9])
  })

  it('link to the producer', async () => {
    const rig = await startRig({ style, trace: otelTracing(), effect: (work) => work.apply() })
    await rig.deliver(traced('a'))
    const [process] = spans.named(PROCESS)
    expect(process && linksOf(process)).toEqual([PRODUCER])
    expect(process?.parentSpanContext).toBe(undefined)
  })

  it('say how a failed message ends, one for each attempt', async () => {
    const rig = await startRig({
      style,
      trace: otelTracing(),
      maxAttempts: 2,
      effect: ({ attempt, id }) => {
        throw new TypeError(`attempt ${attempt} of ${id}`)
      },
    })
    await rig.deliver('number-4711')
    await rig.clock.advance(60_000)
    const all = spans.named(PROCESS)
    expect(all.map(({ attributes }) => attributes['consume_once.outcome'])).toEqual(['rerun', 'dead-lettered'])
    expect(all.map(({ attributes }) => attributes['consume_once.attempt'])).toEqual([1, 2])
    expect(all.map(({ attributes }) => attributes['error.type'])).toEqual(['TypeError', 'TypeError'])
    expect(all.map(statusOf)).toEqual(['ERROR', 'ERROR'])
    // The text of an error may repeat its message.
    expect(JSON.stringify(all.map(({ status }) => status))).not.toContain('4711')
    expect(spans.childrenOf(all[1])).toContain('consume_once.settle')
  })

  it('link a duplicate to the run that had the effect, in a process that is not traced as well', async () => {
    const world = new World()
    const rig = await startRig({ style, world, trace: otelTracing(), effect: (work) => work.apply() })
    await rig.deliver('a')
    const [first] = spans.named(PROCESS)
    const another = await startRig({ style, world, effect: (work) => work.apply() })
    await another.deliver('a')
    const third = await startRig({ style, world, trace: otelTracing(), effect: (work) => work.apply() })
    await third.deliver(traced('a'))
    const [, duplicate, ...others] = spans.named(PROCESS)
    expect(others).toEqual([])
    expect(duplicate?.attributes['consume_once.outcome']).toBe('duplicate')
    expect(duplicate && linksOf(duplicate)).toEqual([PRODUCER, traceparentOf(first)])
    const firstTrace = traceparentOf(first)
    expect(rig.events).toContainEqual(expect.objectContaining({ outcome: 'handled', trace: firstTrace }))
    for (const one of [another, third]) {
      expect(one.events).toContainEqual(expect.objectContaining({ outcome: 'duplicate', firstTrace }))
      expect(one.events).not.toContainEqual(expect.objectContaining({ result: expect.anything() }))
    }
    const admin = adminOf(
      defineConsumer({
        name: 'consumer',
        store: (style.strategy === 'lease' ? world.lease : rig.inbox) as Store,
        handle: () => {},
      }),
      {
        group: 'group',
        origins: ['topic'],
      },
    )
    expect(await admin.inspect(['a'])).toMatchObject([{ state: 'done', trace: firstTrace, result: undefined }])
    expect((await admin.list({ state: 'done', limit: 9 })).records).toMatchObject([{ trace: firstTrace }])
  })

  it('link a delivery that joined to the run that it joined', async () => {
    const { opened, open } = gate()
    const rig = await startRig({
      style,
      trace: otelTracing(),
      effect: async (work) => {
        await opened
        await work.apply()
      },
    })
    await rig.deliver('a')
    await rig.deliver('a')
    open()
    await rig.deliver()
    const [first, joined, ...others] = spans.named(PROCESS)
    expect(others).toEqual([])
    expect(joined?.attributes['consume_once.outcome']).toBe('joined')
    expect(joined && linksOf(joined)).toEqual([traceparentOf(first)])
  })

  it('cost nothing and are not kept if they are not sampled, and what the handler calls is not sampled either', async () => {
    await spans.end()
    spans = new Spans(new AlwaysOffSampler())
    const sampled: boolean[] = []
    const rig = await startRig({
      style,
      trace: otelTracing(),
      effect: async (work) => {
        sampled.push(trace.isSpanContextValid(trace.getActiveSpan()?.spanContext() ?? NO_CONTEXT))
        await work.apply()
      },
    })
    await rig.deliver(traced('a'))
    await rig.deliver('a')
    expect(rig.outcomes()).toEqual(['handled', 'duplicate'])
    expect(spans.all).toEqual([])
    expect(sampled).toEqual([true])
    expect(rig.events).not.toContainEqual(expect.objectContaining({ trace: expect.anything() }))
    const kept = [...rig.world.records.values()].flatMap((record) => ('result' in record ? [record.result] : []))
    expect(kept.filter((result) => result !== undefined)).toEqual([])
  })
})

const MESSAGE: Omit<Message, 'headers'> = {
  system: 'kafka',
  destination: 'sms',
  origin: 'sms',
  position: '0@7',
  key: null,
  value: Buffer.from('{}'),
}
const NO_CONTEXT = { traceId: '', spanId: '', traceFlags: 0 }

describe('the producer of a message', () => {
  it('is the parent by choice', async () => {
    const rig = await startRig({
      trace: otelTracing({ producerContext: 'parent' }),
      effect: (work) => work.apply(),
    })
    await rig.deliver(traced('a'), { id: 'b', headers: { traceparent: Buffer.from(PRODUCER) } }, 'c')
    const parents = spans
      .named(PROCESS)
      .map(({ parentSpanContext, links }) => [parentSpanContext?.spanId, links.length])
    expect(parents).toEqual([
      ['b7ad6b7169203331', 0],
      ['b7ad6b7169203331', 0],
      [undefined, 0],
    ])
  })

  it('gives its baggage to the handler', async () => {
    const tenants: unknown[] = []
    const rig = await startRig({
      trace: otelTracing(),
      effect: () => tenants.push(propagation.getActiveBaggage()?.getEntry('tenant')?.value),
    })
    await rig.deliver(traced('a'))
    expect(tenants).toEqual(['7'])
  })
})

/** The handler's trace, and whether a span that it makes is sampled. */
function traceInHandler(): readonly [string, boolean] {
  const child = trace.getTracer('user').startSpan('send sms')
  child.end()
  return [trace.getActiveSpan()?.spanContext().traceId ?? '', child.isRecording()]
}

describe('a ratio', () => {
  it('of 0 asks the tracer for nothing: each handler has a trace of its own that is not sampled', async () => {
    const found: (readonly [string, boolean])[] = []
    const rig = await startRig({
      trace: otelTracing({ ratio: 0 }),
      effect: async (work) => {
        found.push(traceInHandler())
        await work.apply()
      },
    })
    await rig.deliver('a', 'b')
    await rig.deliver('a')
    expect(rig.outcomes()).toEqual(['handled', 'handled', 'duplicate'])
    expect(new Set(found.map(([id]) => id)).size).toBe(2)
    for (const [id, isSampled] of found) expect([isValidTraceId(id), isSampled]).toEqual([true, false])
    expect(spans.all).toEqual([])
  })

  it('gives the handler the baggage of the producer, and a context that it can add to', async () => {
    const key = createContextKey('a key of the user')
    const found: unknown[] = []
    const rig = await startRig({
      trace: otelTracing({ ratio: 0 }),
      effect: () => {
        const within = context.active().setValue(key, 'kept')
        found.push(propagation.getBaggage(within)?.getEntry('tenant')?.value, within.getValue(key))
        found.push(trace.getSpanContext(within)?.traceId === trace.getActiveSpan()?.spanContext().traceId)
        found.push(trace.getSpan(trace.deleteSpan(context.active())))
      },
    })
    await rig.deliver(traced('a'))
    expect(found).toEqual(['7', 'kept', true, undefined])
  })

  it('lets through about its share, and all messages of a trace that began elsewhere', async () => {
    const messages = Array.from({ length: 400 }, (_, at) => `${at}`)
    const half = await startRig({ trace: otelTracing({ ratio: 0.5 }), effect: (work) => work.apply() })
    await half.deliver(...messages)
    expect(Math.abs(spans.named(PROCESS).length - 200)).toBeLessThan(90)
    const child = await startRig({
      trace: otelTracing({ ratio: 0, producerContext: 'parent' }),
      effect: (work) => work.apply(),
    })
    const before = spans.named(PROCESS).length
    await child.deliver(traced('a'), 'b')
    expect(spans.named(PROCESS).length - before).toBe(1)
  })

  it('holds for batches, which belong to no trace', async () => {
    const rig = await startRig({
      style: { strategy: 'lease', handler: 'handleBatch' },
      trace: otelTracing({ ratio: 0, producerContext: 'parent' }),
      effect: (work) => work.apply(),
    })
    await rig.deliver(traced('a'), traced('b'))
    expect(spans.all).toEqual([])
  })
})

describe('a batch', () => {
  it('is one span that links to each producer, and each message keeps its trace', async () => {
    const rig = await startRig({
      style: { strategy: 'inbox', handler: 'handleBatch' },
      trace: otelTracing(),
      effect: (work) => work.apply(),
    })
    await rig.deliver(traced('a'), 'b', traced('c'))
    const [batch, ...others] = spans.named(PROCESS)
    expect(others).toEqual([])
    expect(batch?.attributes['messaging.batch.message_count']).toBe(3)
    expect(batch?.attributes['consume_once.outcome']).toBe('handled')
    expect(batch && linksOf(batch)).toEqual([PRODUCER, PRODUCER])
    await rig.deliver('a', 'b', 'c')
    const duplicates = spans.named(PROCESS).slice(1)
    expect(duplicates.map(linksOf)).toEqual([[traceparentOf(batch)], [traceparentOf(batch)], [traceparentOf(batch)]])
  })
})

function broken(): never {
  throw new Error('exporter')
}

describe('what is kept with a mark', () => {
  it('is the trace beside the remembered result, also in an encrypted one', async () => {
    for (const sealResult of [
      undefined,
      { seal: (text: string) => `<${text}>`, open: (text: string) => text.slice(1, -1) },
    ]) {
      const inline = runInline(
        defineConsumer({
          name: 'sms',
          id: messageId.header('id'),
          store: memoryStore(),
          rememberResult: true,
          ...(sealResult && { sealResult }),
          handle: () => ({ sent: 7 }),
          trace: otelTracing(),
        }),
        { group: 'sms' },
      )
      const message: Message = { ...MESSAGE, headers: { id: 'a' } }
      expect(await inline.handle(message)).toMatchObject({ outcome: 'handled', result: { sent: 7 } })
      expect(await inline.handle(message)).toMatchObject({ outcome: 'duplicate', result: { sent: 7 } })
      await inline.stop()
    }
    const [first, second, third, fourth] = spans.named('process sms')
    expect(second && linksOf(second)).toEqual([traceparentOf(first)])
    expect(fourth && linksOf(fourth)).toEqual([traceparentOf(third)])
  })
})

describe('the caller of runInline', () => {
  it('is the parent, and a span of its instrumentation is used', async () => {
    const inline = runInline(
      defineConsumer({
        name: 'sms',
        id: messageId.header('id'),
        store: memoryStore(),
        handle: () => {},
        trace: otelTracing(),
      }),
      { group: 'sms' },
    )
    const tracer = trace.getTracer('instrumentation')
    const callFrom = (name: string, kind: SpanKind, id: string): Promise<void> =>
      tracer.startActiveSpan(name, { kind }, async (span) => {
        await inline.handle({ ...MESSAGE, headers: { id } })
        span.end()
      })
    await callFrom('POST /sms', SpanKind.SERVER, 'a')
    await callFrom('process sms', SpanKind.CONSUMER, 'b')
    await callFrom('process sms', SpanKind.CONSUMER, 'b')
    await inline.stop()
    const [request] = spans.named('POST /sms')
    const [own, first, duplicate, ...others] = spans.named('process sms')
    expect(others).toEqual([])
    expect(own?.parentSpanContext?.spanId).toBe(request?.spanContext().spanId)
    expect([first, duplicate].map((span) => span?.attributes['consume_once.outcome'])).toEqual(['handled', 'duplicate'])
    expect(duplicate && linksOf(duplicate)).toEqual([traceparentOf(first)])
  })
})

describe('the log', () => {
  it('has the trace ID where a message is traced', async () => {
    const lines: unknown[] = []
    const keep = (fields: object): void => void lines.push(fields)
    const rig = await startRig({
      trace: otelTracing(),
      log: { debug: keep, info: keep, warn: keep, error: keep },
      effect: ({ attempt, apply }) => {
        if (attempt === 1) throw new Error('busy')
        return apply()
      },
    })
    await rig.deliver('a')
    await rig.clock.advance(60_000)
    const ids = spans.named(PROCESS).map((span) => span.spanContext().traceId)
    expect(lines).toMatchObject([
      { attempt: 1, trace_id: ids[0] },
      { outcome: 'handled', trace_id: ids[1] },
    ])
  })
})

describe('tracing', () => {
  it('is refused if it is not one', async () => {
    const none = {} as ReturnType<typeof otelTracing>
    await expect(startRig({ trace: none, effect: () => {} })).rejects.toThrow(
      'trace: expected what otelTracing() returns',
    )
    expect(() => otelTracing({ producerContext: 'child' as 'link' })).toThrow('producerContext')
    expect(() => otelTracing({ traces: 1 } as object)).toThrow('traces')
    for (const ratio of [-0.1, 1.1, Number.NaN, '1' as never]) {
      expect(() => otelTracing({ ratio })).toThrow('ratio: expected a number from 0 to 1, got')
    }
  })

  it('ends no message with what it throws', async () => {
    const rig: Rig = await startRig({
      trace: { outside: (work) => work(), ambient: broken, begin: broken, ending: broken },
      effect: (work) => work.apply(),
    })
    await rig.deliver('a')
    await rig.deliver('a')
    expect(rig.outcomes()).toEqual(['handled', 'duplicate'])
  })

  it('marks a dead letter without a usable ID, and the replay that a message belongs to', async () => {
    const rig = await startRig({
      trace: otelTracing(),
      effect: () => {
        throw new TerminalError('no')
      },
    })
    await rig.deliver({ id: undefined }, { id: 'a', headers: { 'consume-once-replay-id': '7f3a' } })
    expect(
      spans
        .named(PROCESS)
        .map(({ attributes }) => [
          attributes['consume_once.outcome'],
          attributes['consume_once.reason'],
          attributes['consume_once.replay.id'],
          attributes['error.type'],
        ]),
    ).toEqual([
      ['dead-lettered', 'no-id', undefined, 'no-id'],
      ['dead-lettered', 'handler-failed', '7f3a', 'TerminalError'],
    ])
    expect(spans.named(PROCESS).every(({ kind }) => kind === SpanKind.CONSUMER)).toBe(true)
  })
})
