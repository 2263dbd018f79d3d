import { describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import * as spi from 'consume-once/spi'

/** Authors of stores and sources rely on these: a name that goes breaks their code. */
const VALUES = `
BrokerError COPY_HEADER ConfigError InvariantError ReplayError StoppedError StoreError TransactionError Watermark
claimStream copyFlag copyHeaders copyNumber copyText copyTime deadLetterIn describeError describesCopy hasCode
headerText nextAfter redrivenHeaders runConsumer systemClock systemEntropy transition viewOf
`
const TYPES = `
AsideStory AskedRange AuditEntry AuditPage AuditQuery Backlog BrokerSystem Capacity Cause CheckFinding CheckedConsumer
Checkup Claim ClaimAnswer ClaimItem ClaimRequest ClaimVerdict Clock Command CopyHeader DeadLetter DeadLetterFacts
DecideVerdict Decision Delivery DeliveryEnd Digest DoneChannel DoneEars DurationMs Entropy EpochMs HeldAt HoldRelease
HoldVerdict IdleLimit InboxStore Intake Key KnownSince LeaseAnswer LeaseStore LedgerEntry LentTransaction ListQuery
ListedPosition ListedState MarkVerdict Message MessageCopy MessageRecord MonotonicMs Note OffsetsStore OpenTransaction
OwnerToken PartitionHealth PositionRecord Positions Publisher Purged Purging ReadOptions Reason RecordPage RecordView
RedeliveryWindow ReleaseOptions ReleaseVerdict RenewVerdict ReplayItem ReplayLedger ReplayPart ReplayPlaces
ReplayPublisher ReplayRange ReplayReader ReplayRequest Republished Resolution Result RetryCopy RunDependencies
SaveAnswer SetAsideOptions SetAsideVerdict Source SourceEvent SourceHealth Standing Store StoreAdmin StoreCalls
StoredPosition StoredPositions Strategy StreamClaim StreamItem StreamPosition StreamVerdict Subscription TakeVerdict
Taking TransactionAnswer TransactionClaim Transition Why
`

const names = (text: string): readonly string[] => text.trim().split(/\s+/).toSorted()

describe('consume-once/spi', () => {
  it('exports the values that authors of stores and sources rely on, and no others', () => {
    expect(Object.keys(spi).toSorted()).toEqual(names(VALUES))
  })

  it('exports the types that they rely on, and no others', () => {
    const text = readFileSync('src/spi.ts', 'utf8')
    const listed = [...text.matchAll(/export (type )?\{([^}]*)\} from/g)].flatMap(([, type, list = '']) =>
      list.split(',').map((name) => (type ?? '') + name.trim()),
    )
    const types = listed.filter((name) => /^type \w/.test(name)).map((name) => name.slice('type '.length))
    expect(types.toSorted()).toEqual(names(TYPES))
  })
})
