import type { Migration } from '../../sql/schema/migrations.ts'
import type { Tables } from '../statements/tables.ts'

/**
 * `outbox` is read by lanes, in the order of `id`, and by lines where rows were put off. A
 * relay locks rows of `outbox_lane`, which are made when an outbox is opened and never changed.
 */
export const outboxMigration: Migration<Tables> = {
  version: 2,
  name: 'outbox',
  breaking: false,
  statements: ({ outbox, outboxLane }) => [
    `create table if not exists ${outbox} (
  id         bigint unsigned  not null auto_increment primary key,
  created_at datetime(6)      not null,
  not_before datetime(6),
  parked_at  datetime(6),
  attempts   int unsigned     not null default 0,
  line       int              not null,
  lane       tinyint unsigned not null,
  \`system\`   char(1)          not null,
  message_id text             not null,
  place      text             not null,
  \`key\`      longblob,
  \`value\`    longblob,
  attributes longtext         not null,
  cause      text,
  index outbox_due (lane, parked_at, not_before, id),
  index outbox_line (line, id),
  index outbox_refused (cause(1), id)
) engine = InnoDB default charset = utf8mb4 collate = utf8mb4_bin`,
    `create table if not exists ${outboxLane} (
  lane tinyint unsigned not null primary key
) engine = InnoDB default charset = utf8mb4 collate = utf8mb4_bin`,
  ],
}
