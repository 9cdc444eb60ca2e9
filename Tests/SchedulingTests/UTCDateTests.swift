import Scheduling
import Testing

@Suite
struct UTCDateTests {
    @Test(arguments: [
        (0, 1970, 1, 1, 31), (-1, 1969, 12, 31, 31), (11_016, 2000, 2, 29, 29), (19_675, 2023, 11, 14, 30),
        (-25_509, 1900, 2, 28, 28),
    ])
    func `a number of days is a date, in a month of so many days`(
        days: Int64, year: Int64, month: Int64, day: Int64, length: Int64
    ) {
        let date = UTCDate(daysSince1970: days)
        #expect(date.year == year && date.month == month && date.day == day && date.daysInMonth == length)
    }

    @Test
    func `each day is the next of its month, or the first of the month with the next number`() {
        var date = UTCDate(daysSince1970: -200_000)
        for days in Int64(-199_999)...200_000 {
            let next = UTCDate(daysSince1970: days)
            if next.day == 1 {
                #expect(date.day == date.daysInMonth && next.monthNumber == date.monthNumber + 1)
            } else {
                #expect(next.day == date.day + 1 && next.monthNumber == date.monthNumber)
            }
            date = next
        }
    }

    @Test(arguments: [Int64.min, .max])
    func `no number of days overflows`(days: Int64) {
        #expect((1...12).contains(UTCDate(daysSince1970: days).month))
    }
}
