import { connect } from 'amqplib'
import { runRabbit } from '../../adapters/amqplib/index.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { openedOnce } from '../../test/kit/opened.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { describeHolding } from '../kit/holding.ts'

let rabbit: Rabbit
openedOnce(Rabbit, (made) => (rabbit = made))

describeHolding('RabbitMQ', async () => {
  const queue = rabbit.name()
  const dead = `${queue}.dead-letter`
  return {
    run: (consumer) => runRabbit(() => connect(rabbit.url), consumer, { queue }),
    send: (ids) => rabbit.send(queue, ids, { headersOf: (id) => ({ id }) }),
    untilSettled: (_, deadLetters) =>
      eventually(async () => (await rabbit.ready(queue)) === 0 && (await rabbit.ready(dead)) === deadLetters),
    members: () => rabbit.consumers(queue),
    countDeadLetters: () => rabbit.ready(dead),
    deadLetters: async () => (await rabbit.takeLeft(dead)).map(({ body }) => body),
  }
})
