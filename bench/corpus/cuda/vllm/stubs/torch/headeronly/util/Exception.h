// A stand-in of torch's header: a check that only the host makes.
#pragma once
#define STD_TORCH_CHECK(...)
