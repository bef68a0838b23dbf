import VideoCapturing

extension ModeRejection {
    /// Why a mode that was not tried comes after the one that was taken: by the first part of their keys that differs.
    init(of rejected: ModeKey, against taken: ModeKey) {
        // A smaller size may have the better rate and yet come after the exact size.
        let isKeptBack = rejected.fit == .smaller && taken.fit != .smaller && rejected.bucket < taken.bucket
        guard !isKeptBack, let difference = rejected.difference(from: taken) else {
            self = isKeptBack ? .smallerSize : .listedLater
            return
        }
        guard !difference.isBetter else {
            self = .notTried
            return
        }
        switch difference.part {
        case .bucket: self = .lowerRate
        case .fit:
            switch rejected.fit {
            case .smaller: self = .smallerSize
            case .otherAspect where taken.fit == .sameAspect: self = .otherAspect
            default: self = .largerSize
            }
        case .excess: self = rejected.fit == .smaller ? .smallerSize : .largerSize
        case .cost: self = .costlier
        case .distance: self = .rateFurtherOff
        case .bytes: self = .moreBytes
        case .order: self = .listedLater
        }
    }
}
